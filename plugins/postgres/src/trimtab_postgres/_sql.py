"""The tables of all mailboxes of a database, and the statements on them."""

SCHEMA = (
    "select pg_advisory_xact_lock(7474617573)",
    """create table if not exists trimtab_messages(
        id bigint generated always as identity primary key,
        queue text not null, body bytea not null, visible_at timestamptz not null,
        deliveries integer not null default 0, token bytea,
        sent_at timestamptz not null default clock_timestamp())""",
    """create index if not exists trimtab_messages_ready
        on trimtab_messages(queue, visible_at, id)""",
    """create table if not exists trimtab_dead(
        id bigint generated always as identity primary key,
        queue text not null, body bytea not null, reason text not null,
        deliveries integer not null, died_at timestamptz not null default clock_timestamp())""",
    "create index if not exists trimtab_dead_of on trimtab_dead(queue, id)",
    # Several slots per queue: acknowledgements at one time don't wait for one row.
    """create table if not exists trimtab_acked(
        queue text not null, slot integer not null, n bigint not null,
        primary key(queue, slot))""",
    """create table if not exists trimtab_once(
        queue text not null, key text not null,
        sent_at timestamptz not null default clock_timestamp(), primary key(queue, key))""",
    "create index if not exists trimtab_once_by_time on trimtab_once(queue, sent_at)",
)
LISTEN = """listen {}"""
UNLISTEN = """unlisten *"""
PUT = """with made as (
        insert into trimtab_messages(queue, body, visible_at)
        values(%(queue)s, %(body)s, clock_timestamp() + make_interval(secs => %(delay)s))
        returning id)
    select id, case when %(delay)s = 0 then pg_notify(%(channel)s, '') end from made"""
PUT_ONCE = """with old as (
        delete from trimtab_once where queue = %(queue)s
        and sent_at < clock_timestamp() - make_interval(secs => %(kept)s)),
    new as (
        insert into trimtab_once(queue, key) values(%(queue)s, %(key)s)
        on conflict do nothing returning key),
    made as (
        insert into trimtab_messages(queue, body, visible_at)
        select %(queue)s, %(body)s, clock_timestamp() + make_interval(secs => %(delay)s) from new
        returning id)
    select id, case when %(delay)s = 0 then pg_notify(%(channel)s, '') end from made"""
TAKE = """with ready as (
        select id from trimtab_messages
        where queue = %(queue)s and visible_at <= clock_timestamp()
        order by visible_at, id for update skip locked limit %(count)s)
    update trimtab_messages m
    set deliveries = m.deliveries + 1, token = %(token)s,
        visible_at = clock_timestamp() + make_interval(secs => %(visibility)s)
    from ready where m.id = ready.id
    returning m.id, m.body, m.deliveries, m.sent_at"""
ACK = """with gone as (delete from trimtab_messages where id = %s and token = %s returning queue)
    insert into trimtab_acked(queue, slot, n) select queue, pg_backend_pid() %% 16, 1 from gone
    on conflict(queue, slot) do update set n = trimtab_acked.n + 1"""
RELEASE = """with given as (
        update trimtab_messages
        set token = null, visible_at = clock_timestamp() + make_interval(secs => %(delay)s)
        where id = %(id)s and token = %(token)s returning id)
    select case when %(delay)s = 0 then pg_notify(%(channel)s, '') end from given"""
# The token alone decides: a lease that ended is regained while nobody has taken the message.
PROLONG = """update trimtab_messages m
    set visible_at = greatest(
        m.visible_at, clock_timestamp() + make_interval(secs => asked.seconds))
    from unnest(%s::bigint[], %s::bytea[], %s::float8[]) as asked(id, token, seconds)
    where m.id = asked.id and m.token = asked.token
    returning m.id, extract(epoch from m.visible_at - clock_timestamp())::float8"""
BURY = """with gone as (
        delete from trimtab_messages where id = %s and token = %s
        returning queue, body, deliveries)
    insert into trimtab_dead(queue, body, reason, deliveries)
    select queue, body, %s, deliveries from gone"""
DEAD = """select id, body, reason, deliveries, died_at from trimtab_dead
    where queue = %s order by id limit %s"""
REQUEUE = """with gone as (
        delete from trimtab_dead
        where queue = %(queue)s and (%(ids)s::bigint[] is null or id = any(%(ids)s))
        returning queue, body)
    insert into trimtab_messages(queue, body, visible_at)
    select queue, body, clock_timestamp() from gone"""
DROP = """delete from trimtab_dead
    where queue = %(queue)s and (%(ids)s::bigint[] is null or id = any(%(ids)s))"""
STATS = """select
    count(*) filter (where visible_at <= clock_timestamp()),
    count(*) filter (where visible_at > clock_timestamp() and token is not null),
    count(*) filter (where visible_at > clock_timestamp() and token is null),
    (select count(*) from trimtab_dead where queue = %(queue)s),
    (select coalesce(sum(n), 0)::bigint from trimtab_acked where queue = %(queue)s),
    extract(epoch from clock_timestamp()
        - min(sent_at) filter (where visible_at <= clock_timestamp()))::float8
    from trimtab_messages where queue = %(queue)s"""
PEEK = """select id, body, deliveries,
        extract(epoch from visible_at - clock_timestamp())::float8, sent_at, token is not null
    from trimtab_messages where queue = %s order by visible_at, id limit %s"""
PURGE = """delete from trimtab_messages
    where queue = %s and (token is null or visible_at <= clock_timestamp())"""

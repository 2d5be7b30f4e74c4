"""Whether an agent's closing text needs an answer of its user.

A closing question does if it names something: a step, a number, a choice, what was just found. The
words here are hints, in the languages that are most frequent; without them the rest decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from unicodedata import combining, normalize

import attrs

from trimtab.text import LazyPattern

_LAST = 1_200
SENTENCES = 4
"""What an agent ends with stands in the last sentences; before them it reports."""
_SENTENCE = LazyPattern(
    r"(?<=[.!?…\u0589\u061f\u06d4\u0964\u104b\u1362\u1367\u17d4])[\"')\]*_`]*\s+(?=[^a-z])|(?<=[\u0370-\u03ff];)\s+"
    r"|(?<=[。\uff01\uff1f])|\n+|(?<=[\u0e01-\u0eff])\s+(?=[\u0e01-\u0eff])"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff\u200c"
"""Signs within words that are no letters for ``\\w``: vowels of Hindi, Thai, Hebrew and others."""
_LISTED = LazyPattern(r"\s{0,20}(?:[-*•+]|\d{1,2}[.)])\s")
# Greek asks with a semicolon.
_ASKED = LazyPattern(
    rf"[\w{_MARKS}][\"')\]`*_”»]{{0,3}}\s?[?\uff1f\u061f\u1367][\W_]*$|\u055e|\w[か吗呢][。.]?\W*$"
    r"|[\u0370-\u03ff][^;\n]{0,80};\s*$"
)
CLAUSE = LazyPattern(r"[,;:\u060c\uff0c\u3001]|[-–—] ")
_WORD = LazyPattern(rf"(?:(?!_)[\w{_MARKS}])+(?:[._/-](?:(?!_)[\w{_MARKS}])+)*")
# Scripts without spaces between words, those of South-East Asia among them.
_WIDE = LazyPattern(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3040-\u30ff"
    r"\u3400-\u9fff\uac00-\ud7af]"
)
_WITHIN = LazyPattern(
    r"[\u0900-\u0fff\u1000-\u109f\u1200-\u137f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
"""Scripts in which ``\\b`` finds no ends of words, or particles are part of a word."""
# A word with a number or a capital within, or in Latin letters among others.
_NAME = LazyPattern(
    r"\b(?:\w*\d[\w/]*|[^\W\d_]+(?:_|[A-Z])\w*)|[^\W\d_a-zA-Z\u00c0-\u024f\u1e00-\u1eff]\W+[a-zA-Z]{2,}"
)
# Particles, a few for each language: closed classes, which no list of verbs is. Within a Chinese
# word ("respectively", "special") the sign of a ban is none.
_NEGATION = LazyPattern(
    r"\b(?:don'?t|not|never|nothing|nichts?|näischt|kein\w?|pas|aucune?|rien|jamais|nada|nunca|não"
    # The Portuguese "in the" is none.
    r"|no(?![^.!?\n]{0,60}(?:[ãõç]|\b(?:da|d[ao]s|em|com|uma?)\b))|non|niente|nie|nic|ništa|nimic"
    r"|nenio\w*|xejn|níor|ná|nemoj\w*|ne\w{3,30}[ae]j(?:te)?|huwag|älä|älkää|ära|ärge|битгий|niet"
    r"|niets|geen|ekki|inte|ikke|ei|eivät|nem|sem|nincs|nelze|není|nemám|nesm\w+"
    r"|nemoh\w+|nem[ůô]ž\w+|ne (?:mo|sm)\w+|nije|nisu|nevar\w*"
    r"|negal\w+|nu (?:pot|am|se|este|e|mai)|n-\w+|ezin|nuk|s'mund|değil|yok|deyil|yox|не|нічого"
    r"|ничего|нищо|нічога|нельзя|нема|няма|жоқ|емес|үгүй|jangan|tidak|hindi (?:ko|ma\w+|pa)|wala"
    r"|\w{2,30}m(?:ad\u0131[mk]?|ed(?:im|ik|iler)|ay\u0131n(?:\u0131z)?|[eə]yin(?:iz)?)|đừng|không"
    r"|chớ|μην?|δεν|ոչ|մի|չեմ|չի|չէ|არ|ვერ|ნუ|არა|אל|אי|לא|אין|و?لا|و?لم|و?ليس|نہیں|نمی\w*|نکن\w*"
    r"|نده\w*|نباید|मत|नहीं|नाही|नका|छैन|ਨਹੀਂ|ਨਾ|નથી|નહીં|న|አ[ልት]\w+|without|ohne|sans|sin|senza|без|bez"
    r"|brez|zonder|utan|uden|uten|nélkül|tanpa|fără)(?![\w\u0900-\u0d7f])|n't\b|\busi\w+"
    r"|\bsi(?:ja|ta|we)\w+"
    r"|না|নেই|নয়|இல்லை|முடியா|வேண்டாம்|లేదు|కాదు|వద్దు|ഇല്ല|നില്ല|രുത്|ಇಲ್ಲ|ಬೇಡ|නැ|එපා|មិន|កុំ|ບໍ່|ຢ່າ|อย่า|ไม่|不"
    r"|(?<![分判区特个级类识告差])别|勿|没|ない|なく|ません|지 ?마|말고|않|없",
    re.IGNORECASE,
)


_SIGNS = {"_": r"\s", "*": r"\w*", "$": r"(?=\W*$)", "~": r"(?<=\w\s)"}


def _particles(words: str) -> LazyPattern:
    """Return an expression for particles: ``_`` is a space, ``*`` any letters, ``$`` the end of the
    text, ``~`` a place that is not its beginning; the rest is part of the expression as it stands.
    """
    forms = ["".join(_SIGNS.get(sign, sign) for sign in word) for word in words.split()]
    bounded = [one for one in forms if _WITHIN.search(one) is None]
    within = [one for one in forms if _WITHIN.search(one) is not None]
    return LazyPattern(rf"\b(?:{'|'.join(bounded)})\b(?!-)|{'|'.join(within)}", re.IGNORECASE)


# Particles that limit an order, one to three for each language, closed classes too: "only" and
# "enough"; "not yet", where a negation stands beside it; "before", "until", "when", "wait"; "I
# myself"; "later". What is another word in another language is left out.
_ONLY = _particles(
    "stačí genügt genügen reicht basta bastan suffit suffisent riittää достаточно хватит "
    "достатньо вистачить yeter yeterli elég elegendő ajunge αρκεί φτάνει cukup đủ wystarczy "
    "dovoljno dovolj достатъчно räcker genoeg volstaat piisab pietiek užtenka يكفي کافی מספיק "
    "够了 就够 十分 충분 only just nur bloß seulement uniquement solo sola sólo solamente "
    "soltanto só apenas somente només doar numai alleen slechts endast bara kun bare aðeins vain "
    "ainoastaan ainult vaid tikai tik tylko jen pouze len samo само лише тільки лиш толькі только "
    "лишь csak csupán μόνο sadece yaln\u0131z yaln\u0131zca faqat тек ғана зөвхөн فقط تنها صرف "
    "یوازې tenê רק biss dim_ond yn_unig amháin nëmmen bakarrik vetëm hanya saja sahaja lamang "
    "mung chỉ thôi pekee kawai nìkan kuphela kaliya მხოლოდ միայն केवल सिर्फ मात्र फक्त ફક્ત માત્ર "
    "ਸਿਰਫ শুধু மட்டும் మాత్రమే ಮಾತ್ರ മാത്രം පමණ විතර เท่านั้น แค่ เฉพาะ ເທົ່ານັ້ນ ພຽງ ប៉ុណ្ណោះ ብቻ "
    "只 仅 就行 即可 だけ のみ 만_"
)
_YET = _particles(
    "zatím zatiaľ zaenkrat zasad na_razie deocamdată por_ahora de_momento per_ora por_enquanto "
    "l'instant voorlopig tills_vidare foreløbig toistaiseksi esialgu pagaidām egyelőre засега "
    "наразі поки_що şimdilik בינתיים untuk_sementara dulu kwa_sasa προς_το_παρόν 暂时 暂 先别 "
    "先不 今のところ 일단 tạm_thời khoan yet for_now noch encore todavía aún ainda ancora encara "
    "încă nog ännu än endnu ennå enda enn vielä veel vēl kol_kas jeszcze ještě ešte še još још "
    "уште още ще яшчэ ещё еще пока még ακόμη ακόμα henüz hələ hali әлі одоо بعد لسه هنوز فعلا "
    "ابھی עדיין עוד chưa belum bado kwanza fós ankoraŭ oraindik դեռ अभी अहिले હમણાં ਹਾਲੇ ਅਜੇ এখন "
    "இப்போது ఇప్పుడే ഇപ്പോൾ තවම ยัง ທັນ ເທື່ອ 还 まだ 아직 ჯერ"
)
_UNTIL = _particles(
    "ожида* очіку* очак* wait* warte* waart* attends attente attendre attendez attendo attende "
    "espera esperar esperando aguard* agard* aspett* wacht wachten afwacht* väntar vänta avvakta* "
    "afvent* avvent* venter odot* ootan oota gaidu gaidi gaidīt laukiu laukti palauk czek* poczek* "
    "ček* počk* "
    "čak* čeka* priček* чака* изчака* жд* подожд* чека* зачека* várj várok várom várunk megvár* "
    "aștept* περιμ* bekle* bekli* gözləy* kutaman күт* انتظ* أنتظر بانتظار منتظر* انتظار ממתינ* "
    "המתן חכה chờ đợi tunggu* menunggu hintay* subiri nasubiri nistenna bíð* itxaro* atend* "
    "प्रतीक्षा इंतज़ार इंतजार 待 기다 until till before after unless once when as_soon_as bis "
    "bevor ehe sobald nachdem avant jusqu dès après quand hasta antes después cuando até depois "
    "quando assim_que finché prima dopo appena fins abans până înainte după când totdat voordat "
    "zodra tills innan förrän efter när indtil inden efter etter før når inntil áður þegar ennen "
    "kunnes kunhan jälkeen enne kuni pärast līdz kamēr pirms pēc kol iki prieš kai dopóki zanim "
    "póki przed gdy kiedy dokud než až před když jakmile kým pred dokler preden dok prije čim "
    "nakon kad док пре чим кад додека пред откако докато преди когато след щом поки доки перш "
    "після щойно коли пакуль пасля пока прежде как_только когда после_того amíg ameddig mielőtt "
    "miután amint amikor után μέχρι πριν όταν μόλις αφού kadar önce qədər əvvəl qadar avval дейін "
    "хүртэл حتى قبل تا پیش تک سے_پہلے עד לפני אחרי ברגע qabel sakemm nes cyn ĝis antaŭ ier arte "
    "derisa sampai sebelum setelah ketika hanggang bago hadi kabla baada mpaka kafin títí kí_n_tó "
    "kuze նախքան մինչև cho_đến trước sau_khi đến_khi khi तक से_पहले बाद सम्म अघि पर्यंत आधी સુધી "
    "પહેલાં ਤੱਕ ਤੋਂ_ਪਹਿਲਾਂ পর্যন্ত আগে வரை முன் వరకు ముందు ತನಕ ವರೆಗೆ വരെ മുമ്പ് තුරු තෙක් จนกว่า "
    "ก่อน หลัง เมื่อ ຈົນ ກ່ອນ ຫຼັງ ເມື່ອ រហូត មុន እስክ በፊት 之前 以前 直到 之后 以后 等 まで 前に "
    "後に たら 次第 다음 후에 전에 სანამ მანამ"
)
_SELF = _particles(
    "eu$ ja$ ja_kad* já$ já_až ich$ ik$ jag$ jeg$ sam$ sama$ मैं myself personally selbst selber "
    "persönlich moi-même mismo misma mesmo mesma yo io stesso stessa jo singur zelf persoonlijk "
    "själv selv sjálfur sjálf itse minä mina_ise pats pati pat sám osobiście osobně лично "
    "особисто сам сама самі jaz аз εγώ én magam kendim özüm o'zim خودم بنفسي עצמי sendiri tự eine "
    "mwenyewe mi_mem mé_féin fy_hun खुद आफैं स्वतः જાતે ਆਪ নিজে เอง ເອງ 自己 我来 自分 私が 제가 "
    "내가 직접"
)
# What an agent needs of its user: an answer, a decision, a deed of theirs. "Please" is one word or
# two for each language.
_REQUEST = LazyPattern(
    r"\b(?:please|kindly|tell me|let me know|say (?:which|whether)|reply|once you|until you"
    r"|needs? your|requires? your|I can(?:'t|not)|bitte|sag mir|bevor du|sobald du|por favor|dime"
    r"|veuillez|merci de|dites-moi|s'il (?:te|vous) pla[iî]t|пожалуйста|сообщите|подтвердите|моля"
    r"|будь ласка|ве молам|prosím|proszę|molim|kérem|kérjük|te rog|vă rog|si us plau|alsjeblieft"
    r"|alstublieft|asseblief|lütfen|zəhmət olmasa|palun|lūdzu|prašau|prašome|ole hyvä|olkaa hyvä"
    r"|vänligen|snälla|vennligst|venligst|per favore|mesedez|ju lutem|παρακαλώ|silakan|mohon|tolong"
    r"|sila|vui lòng|tafadhali|paki\w+|من فضلك|يرجى|لطفاً|براہ کرم|בבקשה)\b"
    r"|कृपया|দয়া করে|தயவு|దయచేసి|กรุณา|โปรด|გთხოვთ|խնդրում|өтінем"
    r"|请|需要[您你]|ください|お願い|주세요|부탁",
    re.IGNORECASE,
)
_LATER = _particles(
    "tomorrow later morgen später demain plus_tard mañana más_tarde amanhã mais_tarde domani "
    "più_tardi mâine mai_târziu zítra později zajtra neskôr jutro później sutra kasnije jutri "
    "завтра позже пізніше утре по-късно holnap később αύριο αργότερα yar\u0131n huomenna "
    "myöhemmin homme hiljem rīt vēlāk rytoj vėliau imorgon i_morgon senare i_morgen senere "
    "á_morgun غدا غدًا لاحقا فردا מחר कल ngày_mai besok nanti kesho baadaye bukas 明天 回头 改天 "
    "明日 後で 내일 나중"
)
# "Or" makes a choice of a question where no plan is known.
_OR = _particles(
    "or oder ou o или \u0430\u0431\u043e ili nebo anebo alebo lub albo ~czy ~чи eller tai või "
    "arba vagy sau ή veya yoksa yoxsa أو أم یا או edo ose jew neu aŭ atau _या_ किंवा নাকি அல்லது "
    "లేదా ಅಥವಾ ຫຼື ឬ 还是 それとも 아니면"
)
# "One moment, please" asks for nothing.
_MOMENT = _particles(
    "moment momento moment\u0103 instant augenblick ögonblick øjeblik øyeblikk chvíl* chwil* "
    "hetk* pillanat* trenut* момент хвилин* минутк* στιγμή dakika sebentar subiri_kidogo لحظة "
    "لحظه רגע क्षण สักครู่ 稍等 稍候 少々 잠시 잠깐"
)
# "Which", "how many" and "when" ask for what the run doesn't hold; closed classes, too.
_WHICH = _particles(
    "which how_many when who welche welcher welches welchen wann quel quelle quels quelles "
    "combien quand cuál cuáles cuánto cuántos cuántas cuándo qual quais quale quali quanti quante "
    "quanto quantos quantas quants câți câte când cine welk welke hoeveel wanneer hvilken hvilket "
    "hvilke vilken vilket vilka hvor_mange hur_många när hvaða hversu mikä minkä kumpi kumman "
    "montako milloin milline millise mitu millal kurš kura kuru kuris kurį cik kiek który która "
    "które którą którego ile kiedy který která které kterou kolik kdy ktorý ktorú koľko kedy "
    "kateri katera katero koliko kdaj koji koja koje koju kojem који која које колико кой коя кое "
    "кои колко кога кој која кое колку который которая какой какая какое какую какие сколько "
    "когда який яка яке яку які скільки коли які колькі калі melyik melyiket milyen hány hányat "
    "mennyi mikor ποιο ποια ποιον πόσα πόσο πόσους πότε hangi hangisi hangisini kaç hans\u0131 "
    "neçə qaysi nechta қай қайсы қанша аль хэд хэзээ كم متى کدام چند کون کتنے کتنی کب איזה איזו "
    "כמה מתי bao_nhiêu mấy mana berapa kapan bila alin ilan kailan gani ipi yupi ngapi lini zein "
    "zenbat noiz cilin cilën liema kemm meta pa_un faint cén cathain watter kiu kiun kiom kiam "
    "քանի कौन कितन कुन कति कोणत किती કેટલ કયા કઈ ਕਿਹੜ ਕਿੰਨ কত কখন எத்தனை எப்போது ఎన్ని ఎప్పుడు "
    "ಎಷ್ಟು എത്ര කුමන කීය ไหน กี่ เท่าไ ใคร ຈັກ ប៉ុន្មាន ဘယ် 哪 几 多少 谁 どの どちら どれ 何時 "
    "何日 何人 何枚 何個 いくつ いつ 어느 어떤 몇 언제 რამდენ როდის ስንት የትኛ care_dintre ce_dată "
    "ce_oră أيهما أي_منهما किस_ कब_ কোন_ ഏത്_ ಯಾವ_ មួយណា ໃດ_ nào(?!_(?:không|khác|nữa)) რომელი_"
)
# What only an answer gives: verbs, a few for each frequent language, so that a question which
# pleads for one needs no other evidence.
_DECISION = LazyPattern(
    r"\b(?:answer|approv\w+|choose|confirm\w*|decide|enter|how you"
    r"|let me know (?:how|once|what you see|when)|log ?in|once (?:I have|you)|pick|provide|reply"
    r"|select|sign in|which|without|antwort\w*|bestätig\w*|entscheid\w*|wähl\w*|confirm\w*"
    r"|elige|indica|respond\w*|choisi\w*|répond\w*|ответ\w*|выбер\w*|подтверд\w*)\b"
    r"|确认|回复|选择|提供|决定|確認|選|決め|선택|확인|알려",
    re.IGNORECASE,
)
# Leave to do what the plan says already is no answer that a step needs.
_GO_ON = LazyPattern(
    r"\b(?:carry on|continue|go (?:ahead|on)|keep going|proceed|weiter\w*|fortfahr\w*|fortsetz\w*"
    r"|contin[uú]\w*|sig[ao]\w*|prossig\w*|proseg\w*|avanti|poursui\w*|продолж\w*|продовж\w*"
    r"|kontynu\w*|pokrač\w*|nastav\w*|folytat\w*|forts[æäe]t\w*|går? vidare"
    r"|går? videre|verdergaa\w*|jatka\w*|jätka\w*|turpin\w*|tęsti\w*|συνεχ\w*|lanjut\w*"
    r"|tiếp tục|n?iendele\w*|להמשיך|أتابع|أكمل|ادامه)\b|आगे बढ|चालू|继续|続け|進め|계속",
    re.IGNORECASE,
)


@attrs.frozen
class _Run:
    """What a run is about: the open steps, all that was named before the closing text, what the
    last answer of a tool holds, and what is settled, since the user has forbidden something of it,
    or answered a question about it.
    """

    steps: frozenset[str]
    subjects: frozenset[str]
    found: frozenset[str]
    settled: frozenset[str]


def asks_user(
    text: str,
    about: Iterable[str] = (),
    known: Iterable[str] = (),
    order: str = "",
    *,
    told: str = "",
    answered: str = "",
) -> bool:
    """Tell whether an agent's closing text needs an answer of its user.

    Args:
        text: the text; its last four sentences are looked at.
        about: titles of the steps that are open.
        known: titles of the steps that are done.
        order: the user's last message.
        told: the last answer of a tool.
        answered: what it said before the user's last message, if it has made no call since.
    """
    sentences = sentences_of(text.strip()[-_LAST:])
    steps = topics_in(" ".join(about))
    settled = [*filter(is_question, sentences_of(answered)), order if denies(order) else ""]
    run = _Run(
        steps,
        subjects=steps | topics_in(" ".join([order, answered, *known])),
        found=topics_in(told),
        settled=topics_in(" ".join(settled)),
    )
    closing = sentences[-SENTENCES:]
    threes = zip(sentences, sentences[1:], sentences[2:], strict=False)
    if any(is_question(one) and all(map(_LISTED.match, two)) for one, *two in threes):
        return True  # the answers to choose from stand behind it
    return any(
        _needs_answer(closing[:n], closing[n], closing[n + 1 :], run) for n in range(len(closing))
    )


def requests_in(text: str) -> str:
    """Return the sentences of a text that ask for something.

    Args:
        text: the text.
    """
    return " ".join(
        one for one in sentences_of(text) if is_question(one) or _REQUEST.search(one) is not None
    )


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, in any script."""
    return [part for part in _SENTENCE.split(text) if part.strip()]


def is_question(sentence: str) -> bool:
    """Tell whether a sentence is a question by its form."""
    return _ASKED.search(sentence) is not None


def denies(text: str) -> bool:
    """Tell whether a text holds a negation."""
    return _NEGATION.search(text) is not None


def is_only(text: str) -> bool:
    """Tell whether a text limits what it asks for to what it names."""
    return _ONLY.search(text) is not None


def is_alone(text: str) -> bool:
    """Tell whether a text says that somebody does something alone."""
    return _SELF.search(text) is not None


def waits_for(text: str) -> bool:
    """Tell whether a text names what has to come before something else."""
    return _UNTIL.search(text) is not None


def is_later(text: str) -> bool:
    """Tell whether a text speaks of another day."""
    return _LATER.search(text) is not None


def puts_off(text: str) -> bool:
    """Tell whether a text forbids something for a while."""
    return denies(text) and (_YET.search(text) is not None or waits_for(text))


def goes_on(text: str) -> bool:
    """Tell whether a text speaks of going on."""
    return _GO_ON.search(text) is not None


def _needs_answer(before: Sequence[str], sentence: str, behind: Sequence[str], run: _Run) -> bool:
    if is_question(sentence):
        return _asks(before, sentence, behind, run)
    if _REQUEST.search(sentence) is None:
        return False
    if _DECISION.search(sentence) is not None:
        return True
    moment = _MOMENT.search(sentence) is not None
    return not (moment or goes_on(sentence) or run.steps.isdisjoint(topics_in(sentence)))


def _asks(before: Sequence[str], question: str, behind: Sequence[str], run: _Run) -> bool:
    about = topics_in(question)
    if goes_on(question) and (about & run.steps or (run.steps and not about & run.found)):
        return False  # the plan has answered it
    new = _brings_something(before, question, run)
    if not new and not about.isdisjoint(run.settled):
        return False
    if _DECISION.search(question) is not None:
        return True
    if behind and not any(_DECISION.search(one) for one in behind):
        # Else the text answers it itself: "Shall I drop the table? I drop it now."
        remark = run.steps.isdisjoint(topics_in(behind[0]))
        return len(behind) == 1 and remark and not about.isdisjoint(run.steps)
    return new or not about.isdisjoint(run.subjects)


def _brings_something(before: Sequence[str], question: str, run: _Run) -> bool:
    """Tell whether a question brings up what the run doesn't hold: a name, a choice, a thing that
    was found or is told before it, or comes behind a number that was found.
    """
    new = topics_in(question) - run.subjects
    told = topics_in(" ".join(before))
    return (
        _OR.search(question) is not None
        or _WHICH.search(question) is not None
        or any(map(_holds_number, told & run.found - run.subjects))
        or not new.isdisjoint(told | topics_in(" ".join(_NAME.findall(question))) | run.found)
    )


def _holds_number(word: str) -> bool:
    return any(map(str.isdigit, word))


def topics_in(text: str) -> frozenset[str]:
    """Return what a text is about: the beginnings of its longer words, numbers, and groups of
    characters where words are not set apart.
    """
    return frozenset(_parts(text))


def _parts(text: str) -> Iterator[str]:
    # Accents move with the form of a word.
    split = normalize("NFD", text.lower())
    for word in words_of(normalize("NFC", "".join(c for c in split if not combining(c)))):
        if size := size_of_pieces(word):
            yield from (word[place : place + size] for place in range(len(word) - size + 1))
        elif _holds_number(word):
            yield word
        elif len(word) > 3:
            yield word[:5]


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text, in any script."""
    return _WORD.findall(text)


def size_of_pieces(word: str) -> int:
    """Return how many characters of a script without spaces between words are about a word; 0
    where words are set apart.
    """
    found = _WIDE.search(word)
    return 0 if found is None else 2 if found[0] >= "\u1100" else 3

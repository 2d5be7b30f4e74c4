"""Whether an agent's closing text needs an answer of its user, and whether a user said to stop.

A closing question needs an answer, unless it is an offer or only asks for leave to go on with what
the plan says already. A request needs one if it names a decision, a command, or an open step.
Courtesy, whatever its language, does none of this. The words here are the most frequent ones of
such sentences in eight languages; what they leave open, the titles of the open steps decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from trimtab.text import LazyPattern

_LAST = 1_200
_SENTENCES = 4
"""What an agent ends with stands in the last sentences; before them it reports."""
_LONGEST_ORDER = 2_400
"""Characters of a message in which the user may say where to stop."""
_SENTENCE = LazyPattern(r"(?<=[.!?…])[\"')\]*_`]*\s+(?=[^a-z])|(?<=[。\uff01\uff1f])|\n+")
_LISTED = LazyPattern(r"\s{0,20}(?:[-*•+]|\d{1,2}[.)])\s")
_ASKED = LazyPattern(r"\w[\"')\]`*_”»]{0,3}\s?[?\uff1f\u061f][\W_]*$|\w[か吗呢][。.]?\W*$")
_WORD = LazyPattern(r"[^\W_]+(?:[._/-][^\W_]+)*")
_WIDE = LazyPattern(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CODE = LazyPattern(r"`[^`\n]{1,200}`")
_CHOICE = LazyPattern(
    r"\b(?:or|oder|ou|o|или|which|welche[rsnm]?|cuál(?:es)?|quel(?:le)?s?|qual|как\w{2,3})\b"
    r"|还是|或者|哪|それとも|または|どちら|どの|どれ|아니면|또는|어느",
    re.IGNORECASE,
)
# What an agent needs of its user: an answer, a decision, a deed of theirs.
_REQUEST = LazyPattern(
    r"\b(?:please|kindly|tell me|let me know|say (?:which|whether)|reply|once you|until you"
    r"|needs? your|requires? your|I need|I can(?:'t|not)"
    r"|bitte|sag mir|brauche|bevor du|sobald du|por favor|necesito|dime|veuillez|merci de"
    r"|dites-moi|s'il (?:te|vous) pla[iî]t|пожалуйста|нужн[оаы]?|сообщите|подтвердите)\b"
    r"|请|需要[您你]|ください|お願い|주세요|부탁",
    re.IGNORECASE,
)
_DECISION = LazyPattern(
    r"\b(?:answer|approv\w+|choose|confirm\w*|decide|enter|how you"
    r"|let me know (?:how|once|what you see|when)|log ?in|once (?:I have|you)|pick|provide|reply"
    r"|select|sign in|which|without|antwort\w*|bestätig\w*|entscheid\w*|wähl\w*|confirm\w*"
    r"|elige|indica|respond\w*|choisi\w*|répond\w*|ответ\w*|выбер\w*|подтверд\w*)\b"
    r"|确认|回复|选择|提供|决定|確認|選|決め|선택|확인|알려",
    re.IGNORECASE,
)
# A thing that the agent lacks, other than a deed of its own ("I need to write …").
_LACKS = LazyPattern(
    r"\b(?:I (?:still )?need (?!to\b)"
    r"|brauche (?:ich )?(?:noch )?(?:das|den|die|eine?n?|dein\w*|Ihr\w*)\b"
    r"|il me faut|j'ai besoin d|necesito (?:el|la|los|las|una?|tu|su)\b|preciso d[aeo]\b"
    r"|(?:мне|нам) нуж(?:ен|на|но|ны)\b|mi serve\b|ho bisogno d|heb (?:ik )?(?:het|de|een|je)\b"
    r"|potrzebuję|ihtiyac\u0131m var)|我需要[^。]{1,60}才能"
    r"|(?:続け|進め)[^。]{0,40}必要|계속[^.]{0,40}필요",
    re.IGNORECASE,
)
# Leave to do what the plan says already is no answer that a step needs.
_GO_ON = LazyPattern(
    r"\b(?:carry on|continue|go (?:ahead|on)|keep going|proceed|weiter\w*|fortfahr\w*|fortsetz\w*"
    r"|contin[uú]\w*|sig[ao]\w*|prossig\w*|poursui\w*|продолж\w*)\b|继续|続け|進め|계속",
    re.IGNORECASE,
)
# Words of offers: they stand for no particular thing.
_OFFER = LazyPattern(
    r"\b(?:any(?:thing|one)?|another|else|further|questions|feedback|help|happy|feel free|think"
    r"|fragen|gerne?|sonst|weitere[snrm]?|noch etwas|algo más|dudas?|preguntas?|disposi\w+"
    r"|ayud\w+"
    r"|d'autres|n'hésite\w*|ещё|вопрос\w*|помо\w+)\b"
    r"|任何|其他|随时|如有|帮助|他に|何か|ご質問|お気軽|不明な点|궁금|언제든",
    re.IGNORECASE,
)
_COMMON = frozenset(
    {"about", "befor", "could", "doing", "first", "have", "shoul", "start", "step", "still", "that",
     "them", "then", "this", "want", "what", "when", "will", "with", "would"}
)  # fmt: skip
"""Beginnings of English words that most questions and titles hold, so that none is a subject."""

# A step that is the user's to take: it names a deed of theirs, or them as those who act.
_OF_USER = LazyPattern(
    r"\b(?:approv\w+|ratif\w+|sign-?off|freigabe|abnahme|genehmig\w+|aprobaci\w+|aprova\w+"
    r"|approbation|согласован\w+"
    r"|(?:review|check|decision|answer|input|feedback|confirmation)s?"
    r" (?:by|from|of) (?:the |an? )?(?:customer|human|maintainer|owner|user)"
    r"|the (?:user|customer)'s (?:answer|approval|choice|decision|feedback|input|reply)"
    r"|(?:relecture|validation|vérification|avis|retour|réponse|revisi[oó]n\w*|respuesta|decisi[oó]n"
    r"|revisão|resposta|revisione|conferma|durchsicht|prüfung|rückmeldung|antwort|entscheidung)"
    r" (?:\w+ )?(?:par|del?|do|da|dell?|pelo|durch|von|des) ?(?:l'|den |dem |la |le |il )?"
    r"(?:utilisateur|client|usuari[oa]|usuário|cliente|utente|nutzer\w*|benutzer\w*|kunde\w*)"
    r"|(?:revisione|conferma|risposta) dell'utente)\b"
    r"|\b(?:проверка|ответ|решение)\w* (?:пользовател|клиент)\w*"
    r"|批准|审批|(?:用户|客户)(?:审核|确认|反馈|回复)|审核|確認待ち|承認"
    r"|ユーザー(?:の)?(?:確認|返答|レビュー)"
    r"|승인|사용자 (?:검토|확인|응답)"
    r"|[(\[](?:by |the )?(?:customer|human|support|team|user|nutzer|kunde|utilisateur"
    r"|usuario|用户)[)\]]"
    r"|^(?:customer|human|user|nutzer|kunde|utilisateur|usuario|用户)\s?[:\uff1a]",
    re.IGNORECASE,
)
_STOP = LazyPattern(
    r"(?<!not )(?<!n't )\b(?:stop|pause|wait|waiting|halt|hold|end) (?:\w+ ){0,3}"
    r"(?:after|at|before|here|there|once|when|until|for my|for me|and await)\b"
    r"|\b(?:let me|I(?:'ll| will| want to| need to)) (?:first )?(?:approve|check|confirm|decide"
    r"|look|read|review|see|test|verify)\b"
    r"|\bleave the (?:rest|others?)\b|\b(?:that's|that is) (?:all|enough)\b(?! to\b)"
    r"|\b(?:do not|don't) (?:implement|continue|go on|proceed|start|move on|touch"
    r"|write (?:any )?code)\b"
    r"|\b(?:ask|check with|consult) me (?:before|first)\b|\bbefore you (?:continue|go on|proceed"
    r"|implement|start)\b|\bfor my (?:approval|review|confirmation)\b|\bonly (?:the )?(?:plan"
    r"|spec)\b"
    r"|\b(?:stopp?|warte|halte?) (?:\w+ ){0,4}(?:nach|bevor|bis|dann|auf)\b"
    r"|\b(?:para|pare|detente|espera|aguarde?) (?:\w+ ){0,3}(?:después|antes|hasta|depois|até|aquí"
    r"|aqui)\b|\b(?:arrête|attends|attendez)\b|\b(?:останов\w+|подожди\w*|жди\w*)\b"
    r"|等我|先不要|停下|等待我|我来?(?:审核|确认|看)|止め|待って|確認するまで|멈추|기다려|대기",
    re.IGNORECASE,
)
# The word alone, as a sentence or at the beginning of the message; and nothing more is to be done.
_BARE_STOP = LazyPattern(
    r"(?:^|[.!?\n])\W{0,8}(?:stopp?|halt|arrête[sz]?|alto|basta(?: così)?|par[ae]|dur"
    r"|\u0441\u0442\u043e\u043f|хватит|停|止めて|やめて|그만)\s*(?:$|[.!,;\n。\uff01\uff0c、])"
    r"|\bnothing (?:else|more)\b|\bnichts (?:mehr|weiter)|\bplus (?:à )?rien\b|\bnada m[áa]i?s\b"
    r"|(?<!\w)больше ничего|\bniets meer\b|\bnic więcej\b|不要再|别再",
    re.IGNORECASE,
)
# The user looks at it first: a verb of reading in the first person, and what comes after it.
_READS_FIRST = LazyPattern(
    r"\bje (?:le |la |les |l')?(?:relis|lis|vérifie|valide|regarde|teste)\b"
    r"|\bich (?:\w+ ){0,2}?(?:prüfe?|lese?|schaue?|sehe?|teste)\b"
    r"[^.!?]{0,40}\b(?:bevor|vor|erst|zuerst|vorher)\b"
    r"|\b(?:lo|la|los|las) (?:reviso|leo|valido|compruebo|rileggo|controllo|verifico)\b"
    r"|\beu (?:o |a )?(?:reviso|leio|aprovo|verifico)\b"
    r"|\bя (?:\w+ ){0,2}(?:провер|посмотр|прочита|утверж)\w+"
    r"|我看(?:完|过)|(?:確認|レビュー)してから|(?:검토|확인)한 (?:후|다음|뒤)",
    re.IGNORECASE,
)

_ANOTHER_DAY = LazyPattern(
    r"\b(?:tomorrow|later|another (?:day|time)|next (?:week|time)|morgen|später|mañana|luego"
    r"|demain|plus tard|amanhã|depois|domani|завтра|позже"
    r"|yar\u0131n|jutro)\b|明天|下次|明日|後で|내일|나중에",
    re.IGNORECASE,
)
_NUMBER = LazyPattern(r"(?<![\d.,])\d{1,6}(?![\d.,]*\d)")


def asks_user(text: str, about: Iterable[str] = ()) -> bool:
    """Tell whether an agent's closing text needs an answer of its user.

    Args:
        text: the text; its last four sentences are looked at.
        about: titles of the steps that are open.
    """
    sentences = [part for part in _SENTENCE.split(text.strip()[-_LAST:]) if part.strip()]
    while sentences and _LISTED.match(sentences[-1]) and not _ASKED.search(sentences[-1]):
        sentences.pop()
    steps = _topics(" ".join(about))
    closing = sentences[-_SENTENCES:]
    return any(_needs_answer(closing[n], closing[n + 1 :], steps) for n in range(len(closing)))


def _needs_answer(sentence: str, behind: Sequence[str], steps: frozenset[str]) -> bool:
    if _OFFER.search(sentence) is not None:
        return False
    decides, requests = (
        _DECISION.search(sentence) is not None,
        _REQUEST.search(sentence) is not None,
    )
    if _ASKED.search(sentence) is not None:
        asks_on = any(_REQUEST.search(one) or _DECISION.search(one) for one in behind)
        if behind and not (decides or requests or asks_on):
            return False  # the text answers it itself
        bare = _GO_ON.search(sentence) is not None and _CHOICE.search(sentence) is None
        return not bare or not steps.isdisjoint(_topics(sentence))
    if _LACKS.search(sentence) is not None:
        return True
    if not requests:
        return False
    return decides or bool(_CODE.search(sentence)) or not steps.isdisjoint(_topics(sentence))


def _topics(text: str) -> frozenset[str]:
    """Return what a text is about: the beginnings of its longer words, numbers, and pairs of
    characters where words are not set apart.
    """
    return frozenset(_parts(text)) - _COMMON


def _parts(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.lower()):
        if _WIDE.search(word):
            yield from (word[place : place + 2] for place in range(len(word) - 1))
        elif len(word) > 3 or any(map(str.isdigit, word)):
            yield word[:5] if word.isalpha() else word


def is_of_user(title: str) -> bool:
    """Tell whether a step is the user's to take, such as an approval.

    Args:
        title: of the step.
    """
    return _OF_USER.search(title) is not None


def says_stop(message: str) -> bool:
    """Tell whether a user's message asks the agent to stop before the end, or to go on another day.

    Args:
        message: the message.
    """
    message = message[:_LONGEST_ORDER]
    if any(one.search(message) is not None for one in (_STOP, _BARE_STOP, _READS_FIRST)):
        return True
    return any(
        _GO_ON.search(sentence) is not None and _ANOTHER_DAY.search(sentence) is not None
        for sentence in _SENTENCE.split(message)
    )


def numbers_in(message: str) -> tuple[int, ...]:
    """Return the whole numbers in a user's message, in order, each once.

    Args:
        message: the message.
    """
    found = map(int, _NUMBER.findall(message[:_LONGEST_ORDER]))
    return tuple(dict.fromkeys(found))


def goes_beyond(numbers: Sequence[int], steps: Sequence[str]) -> bool:
    """Tell whether steps are numbered, and begin right behind the last number that the user named:
    then the user asked for what is before them.

    Args:
        numbers: those in the user's message.
        steps: titles of the steps that are open.
    """
    firsts = [int(found[0]) for title in steps if (found := _NUMBER.search(title)) is not None]
    return len(firsts) == len(steps) > 0 < len(numbers) and min(firsts) == max(numbers) + 1

"""People for whom an agent works, and what they decide."""

from __future__ import annotations

from trimtab.text import LazyPattern
from trimtab_signals._normalise import unaccented

_SENTENCE = LazyPattern(r"[.;!?\n。।]")
_WHO = (
    "(?:user|guest|customer|caller|owner|holder|client|patient|traveller|requester|maintainer"
    "|manager)"
)
"""People whom an agent works for, or who answer for what it works on."""
ASKS_USER = LazyPattern(
    rf"(?i)\b(?:ask|let|only|up to|confirmation of|decided by|approved by|confirmed by)"
    rf" (?:the|your) (?:\w+ )?{_WHO}\b"
    rf"|\b{_WHO}(?:'s)? (?:approval|consent|override|permission|signature)\b"
    rf"|\b{_WHO} (?:has to|must|needs to|should) "
    r"(?:confirm|approve|choose|decide|know|say|tell)"
    r"|confirmation (?:is )?(?:required|needed)|requires? (?:confirmation|approval|consent)"
    r"|needs? (?:confirmation|approval|consent)"
    r"|ambiguous(?! (?:call|column|identifier|import|operator|overload|reference|symbol)\b)"
    r"|which (?:one )?(?:is meant|do you mean)"
)
_PERSON = (
    r"(?:(?<![^\W\d_])(?:user|usu[aá]ri|utente|utili[sz]a[dt]|client|kl[ia][ea]?nt|kund|customer"
    r"|guest|gast|gäst|gæst|gjest|vier[ai]|host(?=\smus)|oaspe|tamu|gość|gości|passa?[ge]|kupac|kupc|traveller|caller|tenant|student|alumn|viajer|reisend|locatair|mieter|holder|\w{0,20}inhaber|owner|titular|propriet"
    r"|właścic|patient|pa[cz]ien|пользов|клиент|гост[ьюя]|гіст|корист|клієнт|πελάτ|χρήστ|kullan|müşteri"
    r"|asiak|käyttäj|ügyf|vendég|felhaszn|zákazn|uživatel|(?:ge)?bru(?:[gk]|ik)er|använd|pengguna|pelanggan|khách"
    r"|người dùng|ejer|eier\b|ägar|omistaj|tulajdonos|vlastn[ií]k|владел|собствен|власник|ιδιοκτ"
    r"|pemilik)"
    r"|用[户戶]|客[户戶人]|[顾顧]客|本人|お客|ユーザ|旅客|乗客|고객|사용자|본인|손님|ग्राहक|उपयोगकर्ता|عميل|مستخدم|ضيف|مسافر|مهمان|अतिथि"
    r"|לקוח|משתמש|אורח|ลูกค้า|ผู้เข้าพัก|แขก|สมาชิก|ผู้ใช้|所有者|業主|业主|소유)"
)


_NAMED_PERSON = LazyPattern(rf"(?i){_PERSON}")
_PLAIN_PERSON = LazyPattern(rf"(?i){unaccented(_PERSON)}")
_CHOOSES = (
    r"(?:(?<![^\W\d_])(?:choos|choice|decid|eleg|elij|elecc|escolh|choi[sx]|décid|wähl|entscheid"
    r"|scegl|scelt|kie[sz]|keuze|beslis|wyb[ioór]|zdecyd|vyb[rei]|rozhod|välj|vælg|velg|bestäm|выб"
    r"|решит|обирає|обрати|вибир|виріш|избер|избир|επιλ|αποφασ|seç|karar|vali[tmk]|tria[rn]?\b"
    r"|od[ab]+r|päät|válasz|eldönt|aleag|pilih|dipilih|chọn|ask\b|up to|frag(?:e|t\b)|pregunt"
    r"|pergunt"
    r"|wunsch|wünsch|accord|megad|has to say|demande[zr]|chied|vraag|zapyta|zepte|fråg|spør"
    r"|a[ck]cep|akzept|aceit|hyväks|elfogad|kysy|kérd|уточн|спрос|запит|ρωτ|tany|hỏi)"
    r"|[选選擇决決尋伺]|确认|確認|询问|선택|결정|확인|चुन|पूछ|ختار|قرر|اسأل|בחו?ר|שאל|เลือก|ระบุ|ถาม)"
)
DECIDER = LazyPattern(
    rf"(?i){_PERSON}[^.;\n]{{0,40}}?{_CHOOSES}|{_CHOOSES}[^.;\n]{{0,40}}?{_PERSON}"
)
"""Those for whom an agent works, near the words for to choose and to ask, in the languages that
answers are seen in: no form tells who decides."""

_HAS_TO = LazyPattern(
    r"(?i)(?<![^\W\d_])(?:must|has to|needs? to|muss|müssen|doit|debe|tiene que|deve|precisa"
    r"|mus[íi]|måste|skal|må|on(?= \w+ )|täytyy|pitää|moet|kell|trebuie"
    r"|πρέπει|долж\w{1,3}|нужно|має|мусить"
    r"|повин\w{1,3}|трябва|mora|turi|jā\w{3,12}|peab|gerek\w{0,4}|phải|harus|perlu|يجب|باید|חייב\w{0,2}"
    r"|צריך)(?![^\W\d_])|होग[ाी]|चाहिए|ต้อง|必須|必要|需要|必须|해야"
)
_CONFIRMS = LazyPattern(
    r"(?i)(?<![^\W\d_])(?:confirm|bestätig|unterschr|zustimm|conferm|pot[rv][dr]|potwier|bekräft"
    r"|bekræft|bekreft|vahvist|(?:meg)?erősít|επιβεβα|подтв|підтв|потв|kinnit|apstipr|patvirt|onayla"
    r"|xác nhận|konfirm|mengonfirm|تأكيد|يؤكد|تأیید|לאשר|sign|firma|podpis|підпис|подпис|undertec"
    r"|underskr|allekirj|aláír|υπογρ|imza|ký\b|توقيع|אישור)"
    r"|पुष्टि|ยืนยัน|确认|確認|签|署名|서명"
)
"""Necessity, and to confirm or to sign, in the languages that answers are seen in."""


def has_to_confirm(text: str) -> bool:
    """Return whether a text says in one sentence that a person has to confirm or to sign."""
    return any(
        _HAS_TO.search(one) and _CONFIRMS.search(one) and names_a_person(one)
        for one in _SENTENCE.split(text)
    )


def names_a_person(text: str) -> bool:
    """Return whether a text speaks of someone for whom an agent works, in any language."""
    return any(person.search(text) is not None for person in (_NAMED_PERSON, _PLAIN_PERSON))

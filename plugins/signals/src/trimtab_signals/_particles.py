"""Particles: what limits, denies, puts off or asks in a sentence, in many languages.

They are closed classes, which no list of verbs is, and no form tells them.
"""

from __future__ import annotations

import re

from trimtab.text import LazyPattern

CLAUSE = LazyPattern(r"[,;:\u060c\uff0c\u3001]|[-–—] ")
_WITHIN = LazyPattern(
    r"[\u0900-\u0fff\u1000-\u109f\u1200-\u137f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
"""Scripts in which ``\\b`` finds no ends of words, or particles are part of a word."""
# Within a Chinese word ("respectively", "special") the sign of a ban is none.
_NEGATION = LazyPattern(
    r"\b(?:don'?t|cannot|not|never|nothing|nichts?|näischt|kein\w?|pas|aucune?|rien|jamais|nada|nunca|não"
    # The Portuguese "in the" is none.
    r"|no(?![^.!?\n]{0,60}(?:[ãõç]|\b(?:da|d[ao]s|em|com|uma?)\b))|non|niente|nie|nic|ništa|nimic"
    r"|nenio\w*|xejn|níor|ná|nemoj\w*|ne\w{3,30}[ae]j(?:te)?|huwag|älä|älkää|ära|ärge|битгий|niet"
    r"|niets|geen|ekki|inte|ikke|ei|eivät|nem|sem|nincs|nelze|není|nemám|nesm\w+"
    r"|nemoh\w+|nem[ůô]ž\w+|ne (?:mo|sm)\w+|nije|nisu|brak|nevar\w*"
    r"|negal\w+|nu (?:pot|am|se|este|e|mai)|n-\w+|ezin|nuk|s'mund|değil|yok|deyil|yox|не|нет|нічого"
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
    "後に たら 次第 다음 후에 전에 끝나면 완료되면 სანამ მანამ "
    "kun عند כש* bila apabila xong होने_पर "
    "完成后 结束后 bitince"
)
_SELF = _particles(
    "eu$ ja$ ja_kad* já$ já_až ich$ ik$ jag$ jeg$ sam$ sama$ मैं myself personally selbst selber "
    "persönlich moi-même mismo misma mesmo mesma yo io stesso stessa jo singur zelf persoonlijk "
    "själv selv sjálfur sjálf itse minä mina_ise pats pati pat sám osobiście osobně лично "
    "особисто сам сама самі jaz аз εγώ én magam kendim özüm o'zim خودم بنفسي עצמי sendiri tự eine "
    "mwenyewe mi_mem mé_féin fy_hun खुद आफैं स्वतः જાતે ਆਪ নিজে เอง ເອງ 自己 我来 自分 私が 제가 "
    "내가 직접"
)
_LATER = _particles(
    "tomorrow later morgen später demain plus_tard mañana más_tarde amanhã mais_tarde domani "
    "più_tardi mâine mai_târziu zítra později zajtra neskôr jutro później sutra kasnije jutri "
    "завтра позже пізніше утре по-късно holnap később αύριο αργότερα yar\u0131n huomenna "
    "myöhemmin homme hiljem rīt vēlāk rytoj vėliau imorgon i_morgon senare i_morgen senere "
    "á_morgun غدا غدًا لاحقا فردا بعدا بعداً מחר מאוחר_יותר कल बाद_में ngày_mai lại_sau ภายหลัง "
    "besok nanti kesho baadaye bukas 明天 回头 改天 "
    "明日 後で 내일 나중"
)
_DUE = LazyPattern(
    r"(?i)\b(?:by|for|bis|für|för|pour|d'ici|para|até|entro|per|voor|til|do|na|до|на)\s\Z"
)
"""Beside another day: the day by which something is due."""
# "Or" makes a choice of a question where no plan is known.
OR = _particles(
    "or oder ou o или \u0430\u0431\u043e ili nebo anebo alebo lub albo ~czy ~чи eller tai või "
    "arba vagy sau ή veya yoksa yoxsa أو أم یا או edo ose jew neu aŭ atau _या_ किंवा নাকি அல்லது "
    "లేదా ಅಥವಾ ຫຼື ឬ 还是 それとも 아니면"
)
# "One moment, please" asks for nothing.
_ALREADY = _particles(
    "already bereits schon déjà ya já già deja reeds redan allerede juba jau już už уже вже вече "
    "већ ήδη zaten بالفعل קיים_כבר כבר_קיים đã_(?:có|tồn) sudah_ada udah_ada tayari पहले_से "
    "มีอยู่แล้ว 已存在 已经存在 已有 既に すでに 이미"
)
"""In other languages, such as Chinese, the word alone only tells that something was done."""
MOMENT = _particles(
    "moment momento moment\u0103 instant augenblick ögonblick øjeblik øyeblikk chvíl* chwil* "
    "hetk* pillanat* trenut* момент хвилин* минутк* στιγμή dakika sebentar subiri_kidogo لحظة لمحہ "
    "لحظه רגע क्षण สักครู่ 稍等 稍候 少々 잠시 잠깐"
)
# "Which", "how many" and "when" ask for what the run doesn't hold; closed classes, too.
WHICH = _particles(
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
# "One after another", in set phrases, and what they forbid.
_IN_TURN = _particles(
    "one_at_a_time one_by_one one-by-one one_after_(?:an|the_)other sequentially serially "
    "nacheinander der_reihe_nach ein*_nach_de[mr]_ander* einzeln une?_(?:*_)?à_la_fois "
    "une?_par_une? l'une?_après_l'autre un[oa]_(?:por|a|en|tras)_(?:otr[oa]|un[oa]) "
    "un[oa]_(?:*_)?a_la_vez uma?_(?:a|por)_uma? uma?_(?:*_)?(?:por|de_cada)_vez "
    "un[oa]?_(?:*_)?alla_volta un[oa]_per_un[oa] un[oa]_dopo_l'altr[oa] un[ao]?_(?:per|a)_un[ao]? "
    "pe_rând un*_câte_un* [ée]én_(?:voor|per)_[ée]én na_elkaar ett?_i_taget en_i_taget "
    "ett?_åt_gången én_ad_gangen en_ad_gangen én_om_gangen en_om_gangen yksi_kerrallaan "
    "yksitellen ükshaaval egyenként egyesével egymás_után po_kolei pojedynczo postupn[ěe] "
    "jed*_po_(?:drug|druh|jed)* po_jednom redom en*_za_drug* po_vieną pa_vien* teker_teker "
    "birer_birer tek_tek s\u0131rayla по_одн(?:ому|ой|ій) по_очереди по_черзі "
    "од*_за_(?:друг|одн|інш)* последовательно послідовно ед*_по_ед* јед*_по_јед* "
    "μ[ίι]\u03b1[_-]μ[ίι]\u03b1 "
    "ένα[νς]?[_-]ένα[νς]? διαδοχικά từng_*_một lần_lượt satu_(?:per_|demi_)satu satu-satu "
    "berurutan bergantian isa-isa moja_moja واحد*_تلو_ال* بالتتابع یکی_یکی یک_به_یک به_نوبت "
    "אח[תד]_אח[תד] אח[תד]_אחרי_הש* एक[_-]एक एक_के_बाद_एक बारी-बारी ทีละ 逐[个個一条條项項] 一个一个 "
    "一个接一个 一次[只一] 依次 [一1\uff11][つ件個]ずつ ひとつずつ 順番に 하나씩 차례로 차례대로"
)
_AT_ONCE = _particles(
    "parall*l* paral*l* párhuzam* rinnakkai* παράλληλ* парал*ел* gleichzeitig* simult* současn* "
    "jednocześn* samtidig* одновременн* одночасн* song_song serentak بالتوازي متوازي* هم[_-]?زمان "
    "במקביל समानांतर ขนาน พร้อมกัน [并並]行 同时 同時 동시 병렬"
)
_GO_ON = LazyPattern(
    r"\b(?:carry on|continue|go (?:ahead|on)|keep going|proceed|weiter\w*|fortfahr\w*|fortsetz\w*"
    r"|contin[uú]\w*|sig[ao]\w*|prossig\w*|proseg\w*|avanti|poursui\w*|продолж\w*|продовж\w*"
    r"|kontynu\w*|pokrač\w*|nastav\w*|folytat\w*|forts[æäe]t\w*|går? vidare"
    r"|går? videre|verdergaa\w*|jatka\w*|jätka\w*|turpin\w*|tęsti\w*|συνεχ\w*|lanjut\w*"
    r"|tiếp tục|n?iendele\w*|להמשיך|أتابع|أكمل|ادامه)\b|आगे बढ|चालू|继续|続け|進め|계속",
    re.IGNORECASE,
)


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
    """Tell whether a text puts something off to another day, and names none by which it is due."""
    found = _LATER.search(text)
    return found is not None and _DUE.search(text[: found.start()]) is None


def puts_off(text: str) -> bool:
    """Tell whether a text forbids something for a while."""
    return denies(text) and (_YET.search(text) is not None or waits_for(text))


def is_done_before(text: str) -> bool:
    """Tell whether a text says that something is the case already."""
    return _ALREADY.search(text) is not None


def in_turn(text: str) -> bool:
    """Tell whether a text wants one thing after another, or bans several at once."""
    if _IN_TURN.search(text) is not None:
        return True
    found = _AT_ONCE.search(text)
    return found is not None and denies(CLAUSE.split(text[: found.start()])[-1])


def goes_on(text: str) -> bool:
    """Tell whether a text speaks of going on."""
    return _GO_ON.search(text) is not None

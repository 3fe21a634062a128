"""What kind of deed a request asks for and a tool does: enough to tell an adding from a deletion.

Sums of word vectors hardly see the verb, and verbs differ between languages; a short list of them does. What it is
worth: design/retrieval.md, "Deeds".
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from indexer import arabic

Deed: TypeAlias = Literal["read", "create", "change", "delete", "send", "run", "stop", "copy", "translate"]
DeedMask: TypeAlias = int
"""Deeds as bits, in the order of `DEEDS`; 0 where none is named."""

DEEDS: Final[tuple[Deed, ...]] = get_args(Deed)

_FINAL: Final = ("delete", "stop")
"""Deeds that undo others: to offer one that was not asked for is worse than to offer one too mild."""
_MILD_CONFLICT: Final = 0.75

# Verbs as requests and tool names use them, in their usual forms. A verb may stand for several deeds.
_WORDS: Final[Mapping[Deed, str]] = {
    "read": """
        which what whats who where when how many much show list get describe find search see check tell read view look
        lookup query fetch count display inspect browse retrieve summarize summarise compare estimate
        zeig zeige zeigen such suche suchen finde finden liste auflisten welche welcher welches wie wo wann lies lesen
        muestra muéstrame mostrar busca buscar encuentra encontrar lista listar qué cuál cuáles cuántos dónde ver lee
        montre montrez afficher affiche cherche chercher trouve trouver liste lister quels quelles quel quelle combien
        où lire consulter
        أعرض اعرض عرض أظهر إظهار أرني وريني ورني فرجيني هات جيب أعطني أعطيني عطني أخبرني ابحث بحث دور فتش تفتيش جد
        أوجد اعثر استخرج استخراج اقرأ قراءة تحقق تأكد افحص فحص اطلع استعلم استعلام لخص تلخيص قارن مقارنة اشرح شرح اذكر
        راجع مراجعة شوف أشوف أعرف معرفة أرى رؤية قائمة كم ما أي من متى أين كيف هل شو ايش وش وين فين أيش قديش مين
        покажи показать найди найти поищи искать перечисли посмотри посмотреть проверь проверить узнай узнать прочитай
        прочитать прочти выведи вывести получи получить какие какой какая какое кто где когда сколько
        """,
    "create": """
        create make add insert put new generate register book schedule set save upload open write reserve compose build
        issue request order place record log post start append subscribe allocate
        erstelle erstellen lege anlegen füge hinzufügen buche buchen reserviere reservieren registriere registrieren
        crea crear añade añadir agrega agregar genera generar registra registrar reserva reservar guarda guardar
        crée créer ajoute ajouter génère générer enregistre enregistrer réserve réserver
        أنشئ أنشيء إنشاء اصنع صنع اعمل سوي سو أضف ضف أضيف ضيف إضافة ولد توليد أدخل إدخال سجل تسجيل احجز حجز اكتب كتابة
        احفظ حفظ ارفع رفع خصص تخصيص اطلب طلب أصدر إصدار ضع أضع حط ابن بناء جهز تجهيز درب تدريب دون ركب تركيب اشترك
        создай создать добавь добавить запиши записать забронируй забронировать зарегистрируй зарегистрировать сохрани
        сохранить загрузи загрузить закажи заказать сгенерируй сгенерировать напиши написать заведи завести
        """,
    "change": """
        update change modify edit rename move patch set replace resize enable attach configure adjust assign share
        grant put reschedule turn increase decrease raise lower switch mark translate associate connect link append
        write block tag label
        ändere ändern aktualisiere aktualisieren bearbeite bearbeiten verschiebe verschieben umbenennen setze setzen
        cambia cambiar actualiza actualizar modifica modificar edita editar mueve mover renombra renombrar
        modifie modifier change changer renomme renommer déplace déplacer remplace remplacer
        عدل تعديل غير تغيير حدث تحديث بدل تبديل استبدل استبدال انقل نقل حرك تحريك اربط ربط اجعل خلي خل اضبط ضبط شارك
        مشاركة عين تعيين امنح منح أسند زد زود زيادة قلل تقليل خفض تخفيض كبر تكبير صغر تصغير رق ترقية صحح تصحيح فعل
        تفعيل اسمح ألحق إلحاق علم جدد تجديد طبق أرفق إرفاق
        измени изменить обнови обновить поменяй поменять исправь исправить переименуй переименовать перенеси перенести
        перемести переместить замени заменить настрой настроить увеличь увеличить уменьши уменьшить привяжи привязать
        """,
    "delete": """
        delete remove drop erase cancel clear purge revoke unshare detach destroy terminate deregister clean empty
        dismiss discard unsubscribe
        lösche löschen entferne entfernen storniere stornieren
        borra borrar elimina eliminar quita quitar cancela cancelar
        supprime supprimer efface effacer annule annuler retire retirer
        احذف حذف امسح مسح ألغ ألغي إلغاء أزل أزيل إزالة شيل شل امح محو أفرغ فرغ تفريغ افصل فصل تخلص اسحب سحب نظف تنظيف
        удали удалить убери убрать отмени отменить очисти очистить сотри стереть отвяжи отвязать
        """,
    "send": """
        send publish notify post mail email message text forward share broadcast deliver reply submit invite
        sende senden schicke schicken verschicke verschicken
        envía enviar envíale manda mandar publica publicar
        envoie envoyer publie publier
        أرسل إرسال ابعث بعث ابعت بعت انشر نشر شارك مشاركة أخطر إخطار أبلغ إبلاغ بلغ نبه رد ادع وجه دز
        отправь отправить пошли послать перешли переслать опубликуй опубликовать сообщи сообщить пригласи пригласить
        """,
    "run": """
        start run restart reboot launch invoke execute resume trigger begin retry deploy turn play enable activate
        starte starten führe ausführen inicia iniciar ejecuta ejecutar arranca arrancar
        démarre démarrer lance lancer exécute exécuter
        شغل تشغيل ابدأ بدء نفذ تنفيذ أطلق إطلاق فعل تفعيل استأنف استئناف استدع استدعاء انشر نشر اختبر
        запусти запустить включи включить выполни выполнить перезапусти перезапустить начни начать возобнови
        возобновить
        """,
    "stop": """
        stop pause halt suspend shutdown disable kill interrupt abort turn cancel end mute deactivate
        stoppe stoppen beende beenden anhalten detén detener para parar
        arrête arrêter suspends suspendre
        أوقف إيقاف وقف أطفئ أطفي طفي إطفاء عطل تعطيل جمد تجميد علق تعليق أنهي إنهاء اقطع قطع أغلق إغلاق سكر اقفل اكتم
        كتم
        останови остановить выключи выключить отключи отключить приостанови приостановить заверши завершить прерви
        прервать
        """,
    "copy": """
        copy duplicate clone backup snapshot restore export import replicate recover download
        kopiere kopieren sichere sichern copia copiar exporta exportar copie copier exporter
        انسخ نسخ استنسخ استنساخ كرر صدر تصدير استورد استيراد نزل تنزيل حمل تحميل استعد استعادة رجع استرجع استرجاع أرجع
        إرجاع أرشف أرشفة
        скопируй скопировать копировать восстанови восстановить экспортируй экспортировать импортируй импортировать
        скачай скачать
        """,
    "translate": """
        translate translation übersetze übersetzen traduce traducir traduis traduire ترجم ترجمة переведи перевести
        """,
}
# Parts of words where words are not parted by spaces or carry endings.
_PARTS: Final[Mapping[Deed, str]] = {
    "read": """
        보여 알려 찾아 조회 검색 확인 목록 얼마 무엇 뭐 어떤 몇 읽어 언제 어디 누가 궁금
        查询 查看 查找 搜索 获取 列出 检索 显示 看看 多少 什么 哪些 了解 告诉 見せて 教えて 調べ 検索 一覧 表示 探し
        """,
    "create": """
        만들 생성 추가 등록 예약 잡아 잡기 작성 설정 맞춰 새로 기록 저장 넣어 적어 발급 요청 할당 신청 올리기 구독 게시
        创建 新建 添加 增加 生成 注册 预订 预定 设置 上传 制定 记录 保存 预约 安排 提交 作成 追加 登録 予約 作って
        """,
    "change": """
        바꿔 변경 수정 옮겨 고쳐 공유 업데이트 설정 조절 올려 내려 낮춰 높여 늘려 줄여 연결 붙여 붙이
        바꾸 고치
        修改 更改 更新 编辑 调整 设置 更换 変更 編集 変えて 移動
        """,
    "delete": "삭제 지워 취소 없애 제거 비우 비워 해지 해제 删除 取消 移除 清空 清除 撤销 削除 消して",
    "send": "보내 전송 발송 알림 쏴 전달 게시 전화 发送 通知 发布 转发 分享 送信 送って",
    "run": "시작 실행 재시작 재부팅 돌리 띄우 재개 돌려 켜 틀어 재생 띄워 启动 运行 开始 执行 打开 播放 開始 起動 実行",
    "stop": "중지 멈춰 멈추 정지 꺼 끄 종료 停止 暂停 关闭 结束 止めて 終了",
    "copy": "백업 복사 복원 복구 복제 내보내 다운로드 复制 备份 恢复 导出 导入 下载 コピー 複製",
    "translate": "번역 옮긴 翻译 翻訳",
}

# Words that name a thing as often as a deed: in requests verbs only where a verb may stand, in names only at the head.
_NOUN_TEXT: Final = """
    backup block book check clone copy count display duplicate email export import issue label launch link list log
    look mail mark message notice open order place play post query record register report request restore run schedule
    search set share snapshot start tag text trigger turn view
    how many much what whats when where which who
    عرض بحث دور فحص مراجعة قائمة ما أي من هل سجل تسجيل حجز طلب رفع كتابة بناء تدريب حفظ حدث غير نقل ربط مشاركة علم عين
    فصل مسح سحب نشر رد وجه شغل تنفيذ تعليق علق قطع نسخ صدر حمل تحميل شرح بدل فعل ترجمة
    """
_NOUNS_TOO: Final = frozenset(arabic.folded(_NOUN_TEXT).split())
_BEFORE_VERB_TEXT: Final = """
    and then to please or also now you i we can could would should let lets me us just must
    و ثم أو أن إلى أريد نريد أود أرغب أحتاج نحتاج أرجو رجاء فضلك سمحت ممكن يمكن يمكنك هلا ابي أبغى نبغى بدي عايز عاوز
    محتاج هيا لازم
    """
_BEFORE_VERBS: Final = frozenset(arabic.folded(_BEFORE_VERB_TEXT).split())

_WORD: Final = re.compile(r"[^\W_]+")
_WORD_OR_STOP: Final = re.compile(r"[^\W_]+|[,.;:!?\n،؛؟]")
_NAME_PART: Final = re.compile(rf"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[{arabic.LETTERS}]+")
_ARABIC_LETTER: Final = re.compile(rf"[{arabic.LETTERS}]")
_JOINED_BEFORE: Final = ("و", "ف", "ل", "ب")
_PERSONS: Final = ("ا", "ن", "ت", "ي")
"""First letters of the present tense."""
_JOINED_BEHIND: Final = ("ها", "ه", "هم", "ني", "لي", "نا", "لنا", "له", "لها", "لهم", "ك", "لك", "وا", "و", "ي")
_LEAST_VERB: Final = 3
"""Letters that a verb keeps when others are taken off."""
_LONGEST_VERB: Final = 24
"""With all that is written as one with it."""
_NAME_END: Final = re.compile(r"__|\.")
_SUMMARY: Final = 60
"""Characters of a description that say what a tool does: its first words."""


def _masks(lists: Mapping[Deed, str]) -> dict[str, DeedMask]:
    masks: dict[str, DeedMask] = {}
    for bit, deed in enumerate(DEEDS):
        for word in arabic.folded(lists[deed]).split():
            masks[word] = masks.get(word, 0) | 1 << bit
    return masks


_BY_WORD: Final = _masks(_WORDS)
_BY_PART: Final = _masks(_PARTS)
_PART: Final = re.compile("|".join(sorted(_BY_PART, key=len, reverse=True)))


def is_deed(word: str) -> bool:
    """Whether a word is a verb that requests and tools share."""
    return _known_form(arabic.folded(word.casefold())) in _BY_WORD


def deeds_named(request: str) -> DeedMask:
    """The kinds of deed that the words of a request name; 0 for one that names none."""
    mask, before = 0, ""
    for word in _WORD_OR_STOP.findall(arabic.folded(request.casefold())):
        if not word[0].isalnum():
            before = ""
            continue
        verb = word if word.isascii() else _known_form(word)
        if not _is_noun(verb, before):
            mask |= _of_word(verb)
        before = word
    return mask | _of_parts(request)


def _is_noun(word: str, before: str) -> bool:
    """Whether a word of a request that may be a verb stands there as a noun: `a list`, `an email`, `the orders`."""
    if word in _NOUNS_TOO:
        return before != "" and before not in _BEFORE_VERBS
    return word.removesuffix("s") in _NOUNS_TOO or word.removesuffix("es") in _NOUNS_TOO


def deeds_of_tool(name: str, description: str = "") -> DeedMask:
    """The kinds of deed that a tool does: by the first verb of its name, else by the beginning of its description."""
    name, summary = arabic.folded(name), arabic.folded(description[:_SUMMARY])
    for place, part in enumerate(_NAME_PART.findall(_NAME_END.split(name)[-1].replace("-", " "))):
        word = _known_form(part.casefold())
        if (mask := _BY_WORD.get(word, 0)) and not (place and word in _NOUNS_TOO):
            return mask
    for word in _WORD.findall(summary.casefold())[:2]:
        if mask := _of_word(_known_form(word)):
            return mask
    return _of_parts(name) or _of_parts(summary)


def _of_word(word: str) -> DeedMask:
    return _BY_WORD.get(word, 0) or _BY_WORD.get(word.removesuffix("s"), 0) or _BY_WORD.get(word.removesuffix("es"), 0)


def _known_form(word: str) -> str:
    """The form in which the lists have a Russian or Arabic verb; any other word as it is."""
    if word.isascii() or word in _BY_WORD or len(word) > _LONGEST_VERB:
        return word
    return _listed_arabic(word) if _ARABIC_LETTER.match(word) else word.removesuffix("те")


@lru_cache(maxsize=1 << 14)
def _listed_arabic(word: str) -> str:
    return next((form for form in _arabic_forms(word) if form in _BY_WORD), word)


def _arabic_forms(word: str) -> Iterator[str]:
    """A folded word without what is written as one with it, and in the imperative for the present tense."""
    for start in (word, word[1:]) if word.startswith(_JOINED_BEFORE) else (word,):
        forms = (start, "ا" + start[1:], start[1:]) if start.startswith(_PERSONS) else (start,)
        for form in forms:
            yield from (
                form.removesuffix(ending)
                for ending in ("", *_JOINED_BEHIND)
                if form.endswith(ending) and len(form) - len(ending) >= _LEAST_VERB
            )


def _of_parts(text: str) -> DeedMask:
    if text.isascii():
        return 0
    mask = 0
    for part in _PART.findall(text):
        mask |= _BY_PART[part]
    return mask


@lru_cache(maxsize=1024)
def conflicts(wanted: DeedMask) -> npt.NDArray[np.float32]:
    """(2^deeds,) for each mask of a tool: 0 where it does what is wanted or nothing is known, up to 1 where it undoes.

    `wanted`: the mask of a request.
    """
    final = sum(1 << DEEDS.index(deed) for deed in _FINAL)
    does = np.arange(1 << len(DEEDS))
    apart = (does != 0) & (does & wanted == 0) & (wanted != 0)
    undoing = (does & ~final == 0) | (wanted & ~final == 0)
    table = np.where(apart, np.where(undoing, 1.0, _MILD_CONFLICT), 0.0).astype(np.float32)
    table.flags.writeable = False
    return table

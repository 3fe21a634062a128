"""Arabic requests find Arabic tools by their words, whatever prefixes, endings and spelling stand between them."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.document import ToolDocument
from indexer.lexical import LexicalIndex, tokenize

CATALOG = """
    flights: البحث عن رحلات جوية بين مدينتين وأسعارها
    hotels: حجز غرف في فندق لعدد من الليالي
    weather: توقعات الطقس ودرجات الحرارة في مدينة
    currency: تحويل المبالغ من عملة إلى أخرى بسعر اليوم
    prayer: مواقيت الصلاة في بلد أو مدينة
    translate: ترجمة نص إلى لغة أخرى
    summary: تلخيص مقال طويل في فقرة
    calendar_add: إضافة موعد إلى التقويم
    calendar_delete: حذف موعد من التقويم
    mail_send: إرسال رسالة بريد إلكتروني مع مرفقات
    mail_search: البحث في رسائل البريد
    contacts: حفظ رقم هاتف في جهات الاتصال
    invoices: إصدار فاتورة لعميل
    refunds: رد ثمن طلبية إلى الزبون
    shipping: تتبع شحنة برقمها
    stock: كمية المنتجات في المخزن
    recipes: وصفات طبخ من مكونات موجودة في البيت
    doctors: قائمة الأطباء القريبين حسب التخصص
    medicine: تذكير بتناول الدواء في وقته
    homework: واجبات الطالب في مادة دراسية
    grades: درجات امتحانات الطلاب
    books: استعارة كتاب من المكتبة
    taxi: طلب سيارة أجرة إلى عنوان
    parking: مواقف السيارات الشاغرة في حي
    fuel: أسعار الوقود في المحطات
    jobs: وظائف شاغرة بحسب المهنة
    salaries: كشف رواتب الموظفين
    leave: تقديم إجازة لموظف
    rooms: حجز قاعة اجتماعات في الشركة
    users: تعطيل مستخدم في النظام
    backups: استعادة نسخة احتياطية لقاعدة بيانات
    servers: إعادة تشغيل خادم متوقف
    subtitles: إنشاء ترجمات نصية لمقطع فيديو
    quran: تلاوة سورة بصوت قارئ
    football: نتائج مباريات كرة القدم
    news: عناوين الأخبار العاجلة
    """


@cache
def catalog() -> tuple[LexicalIndex, list[str]]:
    index = LexicalIndex()
    tools = [line.strip().split(": ", 1) for line in CATALOG.strip().splitlines()]
    index.add([ToolDocument(name=name, description=description) for name, description in tools])
    return index, [name for name, _ in tools]


@pytest.mark.parametrize(
    ("request_text", "tool"),
    [
        ("بكم الرحلة الجوية للقاهرة", "flights"),
        ("ابي غرفه بالفندق", "hotels"),
        ("حرارة المدينة غداً وطقسها", "weather"),
        ("حوّل المبلغ للعملات الأجنبية", "currency"),
        ("مواقيتُ الصّلاةِ", "prayer"),
        ("النصوص واللغات", "translate"),
        ("احذف المواعيد: حذف موعدي", "calendar_delete"),
        ("اضافه موعد للتقويم", "calendar_add"),
        ("الفاتورة للعميل", "invoices"),
        ("وصفة بالمكونات", "recipes"),
        ("الدواء ووقتها", "medicine"),
        ("امتحانات الطالبة ودرجاتها", "grades"),
        ("مواقف للسيارة", "parking"),
        ("رواتب الموظفات", "salaries"),
        ("قاعه الاجتماع", "rooms"),
        ("المستخدمون المعطلون في النظام", "users"),
        ("الخادم المتوقف", "servers"),
        ("كــرة القدم", "football"),
        ("عنوان الخبر العاجل، الأخبار", "news"),
    ],
)
def test_the_best_match_by_words_is_the_tool(request_text: str, tool: str) -> None:
    index, names = catalog()

    assert names[int(index.scores(request_text).argmax())] == tool


@pytest.mark.parametrize(("text", "terms"), [("\u0662\u0640 قائمة", ["2", *tokenize("قائمة")]), ("S3\u0640", ["s3"])])
def test_a_stroke_behind_a_number_or_another_script_is_no_word(text: str, terms: list[str]) -> None:
    """As in a numbered list, where it stands for a dash."""
    assert list(tokenize(text)) == terms


def test_a_matched_word_is_named_as_it_was_written() -> None:
    index, names = catalog()

    assert set(index.matched_terms("مواقيتُ الصّلاةِ", names.index("prayer"))) == {"مواقيتُ", "الصّلاةِ"}


@given(st.text(st.characters(min_codepoint=0x5F0, max_codepoint=0x8FF) | st.sampled_from(" S3.2"), max_size=80))
def test_any_text_of_the_arabic_block_has_terms_that_are_not_empty(text: str) -> None:
    assert all(tokenize(text))

"""English names of the things that Korean and Arabic requests ask for: most catalogs are written in English.

Requests in these languages share no word with them, and of their meaning an encoder sees the gist. Words match by what
they name; what it is worth: design/retrieval.md, "Korean words" and "Arabic".
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

from indexer import arabic

# Loanwords and plain terms of computing, office work and trade: what tools are about, not what they do (deeds.py).
_KOREAN: Final = """
    access: 액세스; account: 계정; ad: 광고; address: 주소; alarm: 알람 경보; amazon: 아마존;
    application: 애플리케이션; assignment: 과제; attachment: 첨부; audio: 오디오; backup: 백업; bank: 은행;
    bigquery: 빅쿼리; blog: 블로그; branch: 브랜치; bucket: 버킷; budget: 예산; build: 빌드; cache: 캐시;
    calendar: 캘린더; camera: 카메라; campaign: 캠페인; caption: 자막; card: 카드; certificate: 인증서; channel: 채널;
    chart: 차트; classroom: 클래스룸; cloud: 클라우드; cluster: 클러스터; comment: 댓글; commit: 커밋;
    contact: 연락처; container: 컨테이너; content: 콘텐츠; cost: 비용; coupon: 쿠폰; course: 수업 강좌;
    customer: 고객; dashboard: 대시보드; database: 데이터베이스; dataset: 데이터세트 데이터셋; deployment: 배포;
    device: 기기 디바이스 단말기; disk: 디스크; docker: 도커; document: 문서; domain: 도메인; draft: 초안;
    drive: 드라이브; email: 이메일; endpoint: 엔드포인트; environment: 환경; event: 일정 이벤트; face: 얼굴;
    file: 파일; filter: 필터; firewall: 방화벽; flight: 항공편; folder: 폴더; form: 양식; function: 함수;
    gateway: 게이트웨이; github: 깃허브; gmail: 지메일; google: 구글; graph: 그래프; group: 그룹; host: 호스트;
    hotel: 호텔; image: 이미지; index: 인덱스; instance: 인스턴스; inventory: 재고; invitation: 초대; invoice: 청구서;
    issue: 이슈; jira: 지라; job: 작업; kubernetes: 쿠버네티스; label: 라벨 레이블; lambda: 람다;
    load balancer: 로드밸런서; location: 위치; log: 로그; mail: 메일; map: 지도; media: 미디어; meeting: 회의;
    message: 메시지; metric: 지표 메트릭; model: 모델; network: 네트워크; news: 뉴스; node: 노드; note: 메모;
    notification: 알림; notion: 노션; object: 객체; order: 주문; organization: 조직; page: 페이지;
    parameter: 매개변수 파라미터; password: 비밀번호; payment: 결제; permission: 권한; photo: 사진;
    pipeline: 파이프라인; playlist: 재생목록 플레이리스트; plugin: 플러그인; policy: 정책; port: 포트; post: 게시물;
    presentation: 프레젠테이션; price: 가격; printer: 프린터; product: 상품 제품; project: 프로젝트; query: 쿼리;
    question: 질문; queue: 대기열; record: 레코드; refund: 환불; region: 리전; replica: 복제본; report: 보고서 리포트;
    repository: 저장소 리포지토리; reservation: 예약; resource: 리소스; response: 응답; review: 리뷰 후기; role: 역할;
    routing: 라우팅; rule: 규칙; schedule: 스케줄; secret: 시크릿; security: 보안; segment: 세그먼트; sensor: 센서;
    sentiment: 감정; server: 서버; service: 서비스; session: 세션; shard: 샤드; sheet: 시트; shipping: 배송;
    site: 사이트; slack: 슬랙; slide: 슬라이드; snapshot: 스냅샷; speech: 음성; spreadsheet: 스프레드시트;
    stack: 스택; status: 상태; stock: 주식; storage: 스토리지; stream: 스트림; student: 학생; subnet: 서브넷;
    subscription: 구독; survey: 설문; table: 테이블; tag: 태그; task: 태스크; tax: 세금; template: 템플릿;
    text: 텍스트; thumbnail: 썸네일; ticket: 티켓; token: 토큰; topic: 토픽 주제; traffic: 트래픽; translate: 번역;
    trigger: 트리거; twitter: 트위터; user: 사용자 유저; version: 버전; video: 영상 동영상 비디오;
    virtual machine: 가상머신; volume: 볼륨; weather: 날씨; webhook: 웹훅; website: 웹사이트; youtube: 유튜브;
    """

# The same terms in Arabic, with the plurals that no ending makes; a phrase of two words is joined by `_`.
_ARABIC: Final = """
    access: وصول نفاذ; account: حساب حسابات; ad: إعلان دعاية; address: عنوان عناوين; alarm: إنذار منبه; alert: تنبيه;
    alias: اسم_مستعار; amazon: أمازون; android: أندرويد; api: واجهة_برمجية واجهة_برمجة; api key: مفتاح_api;
    application: تطبيق; app: تطبيق; approval: موافقة اعتماد; archive: أرشيف; assignment: واجب تكليف; attachment: مرفق;
    audio: صوت صوتي; backup: نسخة_احتياطية نسخ_احتياطي نسخ_احتياطية; bank: بنك مصرف; bigquery: بيج_كويري;
    bill: فاتورة; blog: مدونة; book: كتاب كتب; branch: فرع فروع; broadcast: بث; bucket: دلو دلاء سلة_تخزين;
    budget: ميزانية موازنة; build: بناء; cache: كاش ذاكرة_مؤقتة تخزين_مؤقت; calendar: تقويم روزنامة; camera: كاميرا;
    campaign: حملة; caption: ترجمة_نصية; card: بطاقة كارت; catalog: فهرس كتالوج; certificate: شهادة;
    channel: قناة قنوات; chart: مخطط رسم_بياني; chat: دردشة شات; class: فصل حصة; classroom: كلاسروم;
    cloud: سحابة سحابي كلاود; cluster: عنقود كلاستر; comment: تعليق; commit: كوميت; connection: اتصال;
    contact: جهة_اتصال جهات_اتصال; container: حاوية كونتينر; content: محتوى; conversation: محادثة;
    cost: تكلفة تكاليف كلفة; country: بلد دولة; coupon: قسيمة كوبون; course: مقرر دورة مساق;
    credential: بيانات_اعتماد; credit: رصيد أرصدة; currency: عملة; customer: عميل عملاء زبون زبائن;
    dashboard: لوحة_معلومات لوحة_قيادة لوحة_بيانات لوحة_متابعة داشبورد; data: بيانات;
    database: قاعدة_بيانات قواعد_بيانات; dataset: مجموعة_بيانات; delivery: توصيل تسليم; deployment: نشر;
    device: جهاز أجهزة; directory: دليل; disk: قرص أقراص; docker: دوكر; document: مستند وثيقة وثائق; domain: نطاق;
    draft: مسودة; drive: درايف محرك_أقراص; email: بريد إيميل; encryption: تشفير; endpoint: نقطة_نهاية;
    environment: بيئة; error: خطأ أخطاء; event: حدث أحداث موعد مواعيد; execution: تنفيذ; expense: مصروف مصاريف إيصال;
    experiment: تجربة تجارب; face: وجه وجوه; file: ملف; filter: مرشح فلتر تصفية; firewall: جدار_حماية جدار_ناري;
    flight: رحلة_جوية طيران; flow: تدفق; folder: مجلد; form: نموذج نماذج استمارة; function: دالة دوال; game: لعبة;
    gateway: بوابة; github: جيتهاب; gmail: جيميل; google: جوجل غوغل قوقل; graph: رسم_بياني; group: مجموعة مجاميع;
    host: مضيف; hotel: فندق فنادق; house: بيت منزل; image: صورة صور; index: فهرس; instance: خادم خوادم سيرفر آلة مثيل;
    inventory: مخزون; invitation: دعوة; invoice: فاتورة فواتير; ip: آي_بي; issue: مشكلة مشاكل; item: عنصر عناصر;
    job: عمل أعمال وظيفة; key: مفتاح مفاتيح; kubernetes: كوبرنيتيس; label: تسمية ملصق تصنيف; lambda: لامدا;
    language: لغة; lesson: درس دروس; library: مكتبة; light: ضوء أضواء إضاءة; link: رابط روابط; list: قائمة قوائم;
    load balancer: موازن_حمل موازن_أحمال; location: موقع مكان أماكن; log: سجل سجلات; mail: بريد; map: خريطة خرائط;
    market: سوق أسواق; media: وسائط; meeting: اجتماع; member: عضو أعضاء; message: رسالة رسائل;
    metric: مقياس مقاييس مؤشر; mobile: جوال محمول موبايل; model: نموذج نماذج موديل; money: مال نقود فلوس;
    movie: فيلم أفلام; music: موسيقى; network: شبكة; news: خبر أخبار; node: عقدة عقد; note: ملاحظة;
    notification: إشعار; number: رقم أرقام; object: كائن; order: طلب طلبية أمر_شراء; organization: مؤسسة منظمة;
    page: صفحة; parameter: معامل باراميتر; password: كلمة_سر كلمة_مرور باسورد; payment: دفع دفعة; people: أشخاص;
    permission: صلاحية إذن أذونات; phone: هاتف هواتف; photo: صورة صور; pipeline: خط_أنابيب; place: مكان أماكن;
    player: لاعب; playlist: قائمة_تشغيل; plugin: إضافة_برمجية; policy: سياسة; pool: مجمع; port: منفذ منافذ;
    post: منشور تدوينة; presentation: عرض_تقديمي عروض_تقديمية; price: سعر أسعار ثمن; printer: طابعة; product: منتج;
    profile: ملف_شخصي; project: مشروع مشاريع; query: استعلام; question: سؤال أسئلة; queue: طابور; reaction: تفاعل;
    recipe: وصفة; record: سجل سجلات تسجيل; recording: تسجيل; refund: استرداد; region: منطقة مناطق إقليم;
    reminder: تذكير; replica: نسخة_مطابقة; replication: نسخ_متماثل; report: تقرير تقارير; repository: مستودع;
    request: طلب; reservation: حجز; resource: مورد موارد; restaurant: مطعم مطاعم; retention: احتفاظ;
    review: مراجعة تقييم; role: دور أدوار; room: غرفة غرف قاعة; route: مسار طريق; rule: قاعدة قواعد;
    salary: راتب رواتب; schedule: جدول_زمني جدولة; schema: مخطط; secret: سر أسرار; security: أمان أمن;
    security group: مجموعة_أمان; sensor: حساس مستشعر; sentiment: مشاعر; server: خادم خوادم سيرفر; service: خدمة;
    session: جلسة; setting: إعداد; sheet: ورقة أوراق; shipping: شحن شحنة; site: موقع مواقع; slide: شريحة شرائح;
    snapshot: لقطة سناب_شوت; sound: صوت; speech: كلام نطق; spreadsheet: جدول_بيانات جداول_بيانات; stack: حزمة;
    station: محطة; status: حالة; stock: سهم أسهم; storage: تخزين; store: متجر متاجر; stream: مجرى بث تدفق;
    student: طالب طلاب طلبة; subnet: شبكة_فرعية; subscription: اشتراك; survey: استبيان استطلاع; table: جدول جداول;
    tag: وسم وسوم; task: مهمة مهام; tax: ضريبة ضرائب; teacher: معلم أستاذ مدرس; team: فريق فرق; template: قالب قوالب;
    test: اختبار فحص; text: نص نصوص; thumbnail: صورة_مصغرة; ticket: تذكرة تذاكر; time: وقت أوقات; token: توكن رمز;
    topic: موضوع مواضيع; traffic: حركة_مرور; training: تدريب; transaction: معاملة; transcript: تفريغ_نصي;
    translate: ترجمة; trigger: مشغل; trip: رحلة; twitter: تويتر; user: مستخدم; vault: خزنة; version: إصدار نسخة نسخ;
    video: فيديو مقطع; virtual machine: آلة_افتراضية جهاز_افتراضي; volume: قرص أقراص; vulnerability: ثغرة;
    wallet: محفظة; weather: طقس جو; webhook: ويب_هوك; website: موقع_إلكتروني; whatsapp: واتساب; workflow: سير_عمل;
    workspace: مساحة_عمل; youtube: يوتيوب; zone: منطقة;
    """

_LEAST_STEM: Final = 3
"""Letters of a stem that stands for a word: shorter ones are many words' (`آلة` and `إلى`)."""


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Each word of a list, and the English of its entry."""
    pairs = (entry.split(":") for entry in text.split(";") if entry.strip())
    return ((word, " ".join(english.split())) for english, words in pairs for word in words.split())


def _stemmed_entries() -> dict[str, str]:
    """English by folded words without what is written in front of them and, where none is so written, by stems."""
    written: dict[str, dict[str, None]] = {}
    stemmed: dict[str, dict[str, None]] = {}
    for phrase, english in _entries(_ARABIC):
        words = arabic.folded(phrase).split("_")
        written.setdefault(" ".join(words), {})[english] = None
        stem = " ".join(map(arabic.stem, words))
        if len(stem) >= _LEAST_STEM:
            stemmed.setdefault(stem, {})[english] = None
    return {phrase: " ".join(names) for phrase, names in (stemmed | written).items()}


_ENGLISH: Final = dict(_entries(_KOREAN))
_WORD: Final = re.compile("|".join(sorted(_ENGLISH, key=len, reverse=True)))
_BY_ARABIC: Final = _stemmed_entries()
_ARABIC_WORD: Final = re.compile(rf"[{arabic.LETTERS}a-z]{{1,64}}")
_PREPOSITIONS: Final = ("ب", "ل", "ك", "ف")
"""Written as one with the word behind them."""


def with_english_names(query: str) -> str:
    """The query, and after it the English names of the things that it names in Korean or Arabic."""
    if query.isascii():
        return query
    names = dict.fromkeys(_ENGLISH[word] for word in _WORD.findall(query))
    if arabic.is_arabic(query):
        names |= dict.fromkeys(_arabic_names(query))
    return " ".join((query, *names))


def _arabic_names(query: str) -> Iterator[str]:
    """The English names of what a query names in Arabic; two words that name one thing before either alone."""
    words = _ARABIC_WORD.findall(arabic.folded(query).casefold())
    named_with_the_last = False
    for word, following in pairwise((*words, "")):
        if named_with_the_last:
            named_with_the_last = False
        elif following and (english := _english(word, following)):
            named_with_the_last = True
            yield english
        elif english := _english(word):
            yield english


@lru_cache(maxsize=1 << 14)
def _english(word: str, following: str = "") -> str | None:
    for start in (word, word[1:]) if word.startswith(_PREPOSITIONS) else (word,):
        for form in (str, arabic.bare, arabic.stem):
            phrase = f"{form(start)} {form(following)}" if following else form(start)
            if english := _BY_ARABIC.get(phrase):
                return english
    return None

"""English names of the things that Korean requests ask for: most catalogs are written in English.

Requests in Korean share no word with them, and of their meaning an encoder sees the gist. Words match by what they
name; what it is worth: design/retrieval.md, "Korean words".
"""

import re
from typing import Final

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


def _entries(text: str) -> dict[str, str]:
    pairs = (entry.split(":") for entry in text.split(";") if entry.strip())
    return {word: " ".join(english.split()) for english, words in pairs for word in words.split()}


_ENGLISH: Final = _entries(_KOREAN)
_WORD: Final = re.compile("|".join(sorted(_ENGLISH, key=len, reverse=True)))


def with_english_names(query: str) -> str:
    """The query, and after it the English names of the things that it names in Korean."""
    if query.isascii():
        return query
    names = dict.fromkeys(_ENGLISH[word] for word in _WORD.findall(query))
    return " ".join((query, *names))

/** Nothing to translate: the contract says it itself. */
const OWN_WORDS: Readonly<Record<string, string>> = {}

/** What a reference page says in English, beside its document. */
export const english = {
  language: 'en',
  site: 'Kimchi premium',
  routes: 'Reference',
  contents: 'Contents',
  parameters: ['parameter', 'in', 'meaning'],
  fields: ['field', 'type', 'meaning'],
  answers: ['status', 'meaning'],
  example: 'Example answer:',
  /** What each route answers, by path. */
  summaries: OWN_WORDS,
  /** What fields and parameters mean, by name. */
  meanings: OWN_WORDS,
  statuses: OWN_WORDS,
}

/** The words of a reference page in one language. */
export type ReferenceWords = typeof english

/** The Korean page translates the contract as well, which is in English. */
export const korean: ReferenceWords = {
  language: 'ko',
  site: '김치 프리미엄',
  routes: 'API 명세',
  contents: '목차',
  parameters: ['매개변수', '위치', '의미'],
  fields: ['항목', '형식', '의미'],
  answers: ['상태', '의미'],
  example: '응답 예:',
  summaries: {
    '/kimchi-premium': '추적 중인 모든 코인의 최신 프리미엄',
    '/kimchi-premium/{symbol}/daily': '한 코인의 일별 프리미엄',
  },
  meanings: {
    symbol: '코인 심볼. 요청할 때는 대소문자를 가리지 않고, 응답은 대문자입니다.',
    days: '최근 며칠을 받을지. 1~3650, 생략하면 365. 한 번만 쓸 수 있습니다.',
    result: '성공이면 항상 `ok`, 오류이면 `error`입니다.',
    updated_at: '`data`에서 가장 최근의 분. UTC이며 시간대 표기가 없습니다: `YYYY-MM-DDTHH:MM:SS`.',
    count: '`data`의 원소 수.',
    note: '사람이 읽는 설명. `SIMULATED PRICES`로 시작하면 모의 시세입니다.',
    data: '코인 또는 날짜별 원소의 배열. 일별 기록은 오래된 날부터이며 마지막이 오늘일 수 있습니다.',
    name: '코인의 영문 이름.',
    premium_pct: '프리미엄(%), 소수 넷째 자리까지. 음수는 역프리미엄입니다.',
    upbit_krw: '업비트 원화 가격(최근 체결가).',
    binance_usdt: '바이낸스 USDT 가격(최근 체결가).',
    usdt_krw: '계산에 쓴 USDT 시세(업비트 KRW-USDT, 원).',
    snapshot_at: '이 행의 시각(분). 새 데이터가 없으면 `updated_at`보다 이릅니다. UTC.',
    date: '날짜(UTC).',
    open_pct: '그날 첫 분의 프리미엄(%).',
    high_pct: '그날 가장 높은 프리미엄(%).',
    low_pct: '그날 가장 낮은 프리미엄(%).',
    close_pct: '그날 마지막 분(오늘이면 지금까지)의 프리미엄(%).',
    avg_pct: '그날 기록된 모든 분의 평균(%), 소수 넷째 자리까지.',
    samples: '그날 기록된 분 수. 1440이면 1분도 빠짐없이 기록된 날입니다.',
  },
  statuses: {
    '200': '최신 데이터.',
    '304': '가지고 있는 응답이 아직 최신입니다.',
    '400': '`invalid_symbol`, `invalid_days`, `bad_request`, `bad_url`: 요청이 잘못되었습니다.',
    '404': '`unknown_symbol`: 추적하지 않는 코인. `no_such_route`: 없는 경로.',
    '405': '`method_not_allowed`: GET, HEAD, OPTIONS만 쓸 수 있습니다.',
    '408': '`request_timeout`: 요청이 너무 느리게 도착했습니다.',
    '429': '`too_many_requests`: 너무 자주 호출했습니다. `Retry-After`만큼 기다리세요.',
    '431': '`headers_too_large`: 요청 줄이나 헤더가 너무 큽니다.',
    '500': '`internal`: 서버 오류.',
    '503': '`not_ready`, `unavailable`: 아직 값이 없거나 서비스가 다시 시작하는 중입니다.',
  },
}

/** A text, searches that find it, and searches that do not. */
export type SearchedCase = readonly [text: string, found: readonly string[], missed?: readonly string[]];

/** By language or script; the name is that of the test. */
export const searchCases: Readonly<Record<string, readonly SearchedCase[]>> = {
  English: [
    [
      'The printer doesn’t print',
      ["doesn't", 'doesn’t', 'doesnt', 'doesn', 'PRINTER', 'print'],
      ['oesn', 'prin ter'],
    ],
    ["It doesn't work", ['"doesn’t work"', 'doesnt', '"it doesn\'t"'], ['"does work"']],
    ['Smith‘s “Export”—fails…', ['export', 'fails', "smith's", 'smiths', 'smith'], ['exportfails']],
    ['Upload—timeout', ['timeout', 'upload', '"upload timeout"'], ['"timeout upload"']],
    ['rock ’n’ roll', ['rock n roll', 'roll'], ['rocks']],
    ['non\u00a0breaking and narrow\u202fspace', ['breaking', 'narrow', 'space'], ['nonbreaking']],
    ['soft\u00adhyphen zero\u200bwidth', ['softhyphen', 'zerowidth'], ['hyphen']],
    ['naïve café', ['naive', 'cafe', 'naïve', 'CAFÉ'], ['caf e']],
    ['ﬁle in ＦＵＬＬ width', ['file', 'full'], ['fi']],
    ['Acme™ server, Shop℠ and ™mark®', ['acme', '"acme server"', 'shop', 'mark'], ['acmetm', 'tmmark']],
    ['2½ hours, ½cup, 5¼, 10² and ①②', ['2', 'hours', 'cup', '5', '10', '1'], ['21', '51', '102', '12']],
    ['weighs 10㎏ or 3㎡', ['10kg', '3m2', 'weighs'], ['kg']],
  ],
  German: [
    ['Klick auf «Drucken»', ['Drucken', 'drucken', 'klick'], ['rucken']],
    ['Liste “Export” von „Müller“', ['Export', 'muller', 'Müller'], ['mueller']],
    ['Zürich7 Straße GROSSE', ['zurich7', 'Zürich7', 'strasse', 'STRASSE', 'große'], ['zurich8']],
    ['MAẞE', ['masse', 'maße'], ['mase']],
  ],
  French: [
    ['L’école d’été', ['ecole', 'école', "l'école", 'ete', 'lecole'], ['cole']],
    ['« Œuvre » et cœur', ['oeuvre', 'œuvre', 'coeur'], ['uvre']],
    ['aujourd’hui', ["aujourd'hui", 'aujourdhui', 'hui'], ['jourd']],
  ],
  Spanish: [
    ['¿Dónde está el niño?', ['donde', 'esta', 'nino', 'Niño'], ['onde']],
    ['¡Atención! corazón', ['atencion', 'CORAZÓN'], ['razon']],
  ],
  Portuguese: [['Não há ação; manutenção', ['nao', 'acao', 'manutencao'], ['acoes']]],
  Polish: [['Łódź, zażółć gęślą', ['lodz', 'Łódź', 'zazolc', 'gesla'], ['odz']]],
  Czech: [['Příliš žluťoučký kůň', ['prilis', 'zlutoucky', 'kun'], ['kuna']]],
  Danish: [['Rødgrød på Ærø', ['rodgrod', 'aero', 'pa'], ['grod']]],
  Icelandic: [['Þórður Guðrún', ['thordur', 'gudrun'], ['ordur']]],
  Turkish: [
    ['ISPARTA ılık İstanbul', ['isparta', 'ısparta', 'ilik', 'istanbul', 'İSTANBUL'], ['stanbul']],
    ['çağrı düğmesi', ['cagri', 'dugmesi'], ['cagr ı']],
  ],
  Vietnamese: [['Đăng nhập thất bại', ['dang nhap', 'đăng', 'that bai'], ['hap']]],
  Hungarian: [['Árvíztűrő tükörfúrógép', ['arvizturo', 'tukorfurogep'], ['fúró']]],
  Russian: [
    ['Ёлка «горит»', ['елка', 'ёлка', 'горит', 'ГОРИТ'], ['лка']],
    ['Мой принтер', ['мой', 'принтер', 'МОЙ'], ['мои']],
    ['заказ №1234 и № 77', ['1234', '№1234', '№ 1234', '77', '№77', '"заказ 1234"'], ['no1234']],
    ['за́мок', ['замок', 'за́мок'], ['амок']],
  ],
  Ukrainian: [
    ['м’ята і Київ', ["м'ята", 'мʼята', 'мята', 'київ', 'ята'], ['киів']],
    ['Ґанок', ['ґанок'], ['ганок']],
  ],
  Bulgarian: [['Грешка: печат', ['грешка', 'печат'], ['ечат']]],
  Macedonian: [['Ѓорѓи Ќирил', ['ѓорѓи', 'ќирил'], ['горги']]],
  Greek: [
    ['ΟΔΟΣ Αθηνών', ['οδος', 'οδός', 'ΟΔΌΣ', 'αθηνων'], ['οδο σ']],
    ['μαΐου προϊόν', ['μαιου', 'προιον'], ['ιον']],
  ],
  Hebrew: [
    ['שָׁלוֹם עולם', ['שלום', 'עולם', 'שָׁלוֹם'], ['לום']],
    ['צה״ל', ['צהל', 'צה״ל'], ['הל']],
  ],
  Arabic: [
    ['مُحَمَّد أحمد', ['محمد', 'احمد', 'أحمد'], ['حمد']],
    ['الطـــابعة لا تعمل', ['الطابعة', 'تعمل'], ['طابعة']],
  ],
  Persian: [['می‌خواهم چاپ', ['میخواهم', 'می‌خواهم', 'چاپ'], ['خواهم']]],
  Hindi: [
    ['प्रिंटर काम नहीं करता', ['प्रिंटर', 'काम', 'नहीं'], ['प्रंटर', 'कम']],
    ['हिन्दी', ['हिन्दी'], ['हन्द']],
  ],
  Bengali: [['মুদ্রণ ত্রুটি', ['মুদ্রণ', 'ত্রুটি'], ['মদরণ']]],
  Tamil: [['அச்சுப்பொறி வேலை', ['அச்சுப்பொறி', 'வேலை'], ['வலை']]],
  Chinese: [
    [
      '登录页面无法打开',
      ['页面', '登录', '打开', '页面无法', '登录页面无法打开', '开', '页', '"页面 无法"'],
      ['页无', '面打', '无法登录', '录入'],
    ],
    ['我用iPhone登录失败。', ['iphone', '登录', '失败', '登录失败', '我用'], ['用登', '败。登']],
    ['第3章：導入', ['3', '章', '導入', '第3章', '第'], ['第章']],
    ['资料库（備份）', ['備份', '资料库'], ['库備份']],
  ],
  Japanese: [
    ['ログインページが開けません', ['ページ', 'ログイン', '開け', 'ません', 'が'], ['ペジ', 'か', 'イログ']],
    ['ﾃｽﾄ環境でエラー', ['テスト', '環境', 'エラー', 'テスト環境'], ['エラ環']],
    ['東京タワー・展望台', ['東京', 'タワー', '展望台'], ['ワー展', '京東']],
    ['人々の時々', ['人々', '時々'], ['々人']],
  ],
  Korean: [
    ['로그인 페이지가 열리지 않아요', ['로그인', '페이', '페이지', '열리'], ['그인', '지가']],
    ['한글 입력', ['한글', '입력'], ['글입']],
  ],
  Thai: [
    ['หน้าเข้าสู่ระบบไม่เปิด', ['ระบบ', 'หน้า', 'เปิด', 'เข้าสู่ระบบ'], ['บะ', 'เปดิ']],
    ['น้ำ', ['น้ำ'], ['น่ำ']],
  ],
  Lao: [['ເຂົ້າສູ່ລະບົບ', ['ລະບົບ', 'ເຂົ້າ'], ['ບລະ']]],
  Khmer: [['ចូលប្រព័ន្ធ', ['ប្រព័ន្ធ', 'ចូល'], ['លចូ']]],
  Myanmar: [['စနစ်ထဲဝင်ပါ', ['စနစ်', 'ဝင်ပါ'], ['ပါဝင်']]],
  identifiers: [
    [
      'foo_bar and user.name@host.example',
      ['foo_bar', 'foo', 'bar', 'user.name@host.example', 'name', 'host'],
      ['foobar', 'bar_foo'],
    ],
    ['See ISS-42 in v1.2.3', ['ISS-42', 'iss', 'v1.2.3', '"v1.2"', '1.2.3', '1.2', '42'], ['v1.3', 'iss-43']],
    [
      '2024-11-26T04:59:26Z ERROR',
      ['2024-11-26', '04:59', '04:59:26', '2024-11-26T04:59:26Z'],
      ['2024-11-05', '04:26'],
    ],
    [
      'https://example.com/a/b?q=1#top',
      ['example.com', 'https://example.com/a/b', 'top', 'q=1'],
      ['example.org', 'b/a'],
    ],
    ['C:\\Temp\\log.txt', ['temp', 'log.txt', 'c:\\temp'], ['txt.log']],
    ['Zürich-Flughafen 50 % ½ m² №5 ①', ['flughafen', 'm2', 'zurich-flughafen', '50'], ['zurichflughafen']],
  ],
  grammar: [
    [
      'red green blue',
      [
        'red blue',
        'red or yellow',
        'yellow or red',
        '"green blue"',
        'red -yellow',
        '-"blue red"',
        'blu',
        'red gre',
      ],
      [
        'or red',
        'red -green',
        '-red',
        '"red blue"',
        'yellow',
        '-"red green"',
        '"blu"',
        'blu red',
        'yellow or black',
        '...',
        '!',
      ],
    ],
    ['a well-known state', ['well-known', 'well known', '-unknown'], ['-well', 'known-well', 'well-none']],
    [
      'red blue green',
      ['“red blue”', '„red blue“', '«blue green»', '「red blue」', '"red blue', '“blu'],
      ['“red green”', '「red green」'],
    ],
    ['page 12345', ['12345', 'page'], ['1234', '123']],
  ],
  punctuation: [
    [
      '*bold* _it_ `code` ~~gone~~ #tag @bob',
      ['bold', 'it', 'code', 'gone', 'tag', 'bob', '@bob', '#tag'],
      ['boldit'],
    ],
    ['a·b、c。d', ['a', 'b', 'c', 'd'], ['ab']],
    ['🔥hot🔥 x\uffff', ['hot', '🔥hot'], ['hott']],
  ],
};

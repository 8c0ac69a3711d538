-- The searchable text of a conversation's profile name, as `folded` of src/text/search-text.ts writes it: an index of the search
-- that the contact's own text does not cover.
alter table conversations add column profile_search text; -- lower case without accents; X and five letters for what is not ASCII

-- Names of the common alphabets. Others are written when the customer writes next.
with named as (
  select
    company_id, id,
    translate(
      lower(btrim(regexp_replace(
        normalize(regexp_replace(normalize(profile_name, NFKD), '[\u0300-\u036f]', '', 'g'), NFC),
        '\s+', ' ', 'g'
      ))),
        'ÆÐØÞĐĦŁŊŒŦƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǤǶǷȜȠȢȤȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶͿΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩϏϘϚϜϞϠϢϤ' ||
        'ϦϨϪϬϮϷϺϽϾϿЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍ' ||
        'ӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖς',
        'æðøþđħłŋœŧɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǥƕƿȝƞȣȥⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷϳαβγδεζηθικλμνξοπρστυφχψωϗϙϛϝϟϡϣϥ' ||
        'ϧϩϫϭϯϸϻͻͼͽђєѕіјљњћџабвгдежзиклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎ' ||
        'ӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆσ'
    ) as name
  from conversations
  where profile_name is not null
)
update conversations conversation
set profile_search = coalesce(
  (
    select string_agg(
      case
        when ascii(letter) < 128 then letter
        else 'X' || translate(lpad(to_hex(ascii(letter)), 5, '0'), '0123456789abcdef', 'ABCDEFGHIJKLMNOP')
      end,
      '' order by place
    )
    from unnest(string_to_array(named.name, null)) with ordinality as letters (letter, place)
  ),
  ''
)
from named
where (conversation.company_id, conversation.id) = (named.company_id, named.id);

create index conversations_by_profile on conversations using gin (company_id, profile_search gin_trgm_ops)
  with (gin_pending_list_limit = 2048) where profile_search is not null;

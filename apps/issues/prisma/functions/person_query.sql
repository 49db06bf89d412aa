CREATE OR REPLACE FUNCTION public.person_query(typed text)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE
AS $function$
        SELECT to_tsquery('public.issue_text', string_agg(DISTINCT '''' || word || ''':*', ' & '))
          FROM regexp_split_to_table(public.separated_words(typed), '\s+') word WHERE word <> ''
    $function$;

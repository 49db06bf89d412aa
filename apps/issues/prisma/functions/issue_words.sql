CREATE OR REPLACE FUNCTION public.issue_words(title text, description text)
 RETURNS tsvector
 LANGUAGE sql
 IMMUTABLE
AS $function$
        SELECT setweight(to_tsvector('public.issue_text', public.separated_words(title)), 'A')
            || setweight(to_tsvector('public.issue_text', public.separated_words(left(description, 20000))), 'B')
    $function$;

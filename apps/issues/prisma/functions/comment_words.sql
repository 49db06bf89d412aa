CREATE OR REPLACE FUNCTION public.comment_words(body text)
 RETURNS tsvector
 LANGUAGE sql
 IMMUTABLE
AS $function$ SELECT to_tsvector('public.issue_text', public.separated_words(left(body, 4000))) $function$;

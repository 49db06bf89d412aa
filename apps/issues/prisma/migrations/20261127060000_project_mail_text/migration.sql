-- What mails about the issues of a project contain. A constant default, so no row is rewritten.
CREATE TYPE "project_mail_text" AS ENUM ('full', 'title', 'none');
ALTER TABLE "projects" ADD COLUMN "mail_text" "project_mail_text" NOT NULL DEFAULT 'title';

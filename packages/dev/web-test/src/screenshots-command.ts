// `npx pnpm@12 screenshots [folder]` takes a picture of each page; `npx pnpm@12 screenshots --readme` those of the documents.
await (process.argv[2] === '--readme' ? import('./pictures.ts') : import('./screenshots.ts'));

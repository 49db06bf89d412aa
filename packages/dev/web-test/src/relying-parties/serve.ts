// Serves an application in a process of its own, because Jest cannot load all of their libraries. The parent sends the
// settings of the client.
import { once } from 'node:events';
import express from 'express';
import { authJs } from './auth-js.ts';
import { expressOpenidConnect } from './express-openid-connect.ts';
import { openidClient5 } from './openid-client-5.ts';
import { openidClient6 } from './openid-client-6.ts';
import type { ClientSettings } from './relying-party.ts';

const [, , name] = process.argv;
const library = [authJs, expressOpenidConnect, openidClient5, openidClient6].find((one) => one.name === name);
if (library === undefined) throw new Error(`there is no application ${name}`);
// It ends with its parent.
process.on('disconnect', () => process.exit());
const [settings] = (await once(process, 'message')) as [ClientSettings];
const app = express();
app.get('/', (_request, response) => {
  response.type('html').send('<!doctype html><html lang="en"><title>Helpdesk</title><h1>Helpdesk</h1>');
});
await library.serve(app, settings);
await once(app.listen(Number(new URL(settings.baseUrl).port), '127.0.0.1'), 'listening');
process.send?.({ isReady: true });

import { z } from 'zod';
import { type Browser, type HtmlPage, Redirect } from '#src/contract/browser.js';
import { declare, page, redirect } from '#src/contract/declaration.js';
import { Failure } from '#src/contract/errors.js';
import { bodySizes } from '#src/contract/limits.js';
import { implement, type Operation, type RequestFacts } from '#src/contract/operation.js';
import { addressBelow } from '#src/contract/web-address.js';
import { type Features, mailboxSeconds } from '#src/features/index.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';

const token = z.string().max(256).default('');
const shown = {
  tag: 'operations',
  method: 'GET',
  access: { project: false, auth: ['guest'] },
  limits: { calls: 'operations' },
  reply: { status: 200, shape: page, errors: ['general_route_not_found'] },
} as const;
const params = z.object({ mailId: z.string().max(36) });

const mailboxApi = declare({
  list: {
    ...shown,
    id: 'operations.mailbox',
    path: '/mailbox',
    summary: 'The page with the messages that were kept, while no mail server is set.',
    input: { query: z.object({ token }) },
  },
  open: {
    id: 'operations.openMailbox',
    tag: 'operations',
    method: 'POST',
    path: '/mailbox',
    summary: 'Opens the mailbox in a browser by the link of `svc mail open`.',
    access: { project: false, auth: ['guest'] },
    limits: { calls: 'operations', bodyBytes: bodySizes.account },
    input: { body: z.object({ token }), form: true },
    reply: { status: 302, shape: redirect, errors: ['general_route_not_found', 'user_invalid_token'] },
  },
  show: {
    ...shown,
    id: 'operations.mail',
    path: '/mailbox/:mailId',
    summary: 'The page with one message.',
    input: { params },
  },
  html: {
    ...shown,
    id: 'operations.mailHtml',
    path: '/mailbox/:mailId/html',
    summary: 'The HTML of a message, for the frame of its page.',
    input: { params },
  },
});

/** Most messages on the page. */
const maxListed = 100;
/** The name of the cookie of a browser that has opened the mailbox. */
const cookie = 'mailbox';
const layout = { layout: 'mailbox/layout' } as const;

type Deps = Pick<Runtime, 'config' | 'db' | 'pages'> & Pick<Features['courier'], 'mailbox' | 'mailboxAccess'>;

/**
 * Mailbox in a browser, for developers without a mail server. It shows the messages of all users, so only browsers on this machine that
 * have redeemed a link of the operator can open it.
 */
export function createMailboxPage(
  { config, db, pages }: Pick<Runtime, 'config' | 'db' | 'pages'>,
  { mailbox, mailboxAccess }: Pick<Features['courier'], 'mailbox' | 'mailboxAccess'>,
): readonly Operation[] {
  const deps: Deps = { config, db, pages, mailbox, mailboxAccess };
  return implement(mailboxApi, bind(deps, { list, open, show, html }));
}

function requireAvailable({ config }: Deps, { isLocal }: RequestFacts): void {
  if (config.smtpUrl !== undefined || !isOnLocalhost(config.baseUrl) || !isLocal)
    throw new Failure('general_route_not_found');
}

/** True if the browser has opened the mailbox. Reading the cookie deletes it, so it is set again. */
function isOpen({ mailboxAccess }: Deps, browser: Browser): boolean {
  const secret = browser.takeBinding(cookie);
  if (secret === null || !mailboxAccess.admits(secret)) return false;
  browser.bind({ id: cookie, secret, lifeSeconds: mailboxSeconds, isPosted: false });
  return true;
}

async function list(
  deps: Deps,
  { query, request }: { readonly query: { readonly token: string }; readonly request: RequestFacts },
): Promise<HtmlPage> {
  requireAvailable(deps, request);
  const { pages } = deps;
  if (query.token !== '') {
    const values = { heading: 'Mailbox', token: query.token, hours: String(mailboxSeconds / 3600) };
    return pages.render('mailbox/open', values, { ...layout, formTargets: [] });
  }
  if (!isOpen(deps, request.browser)) return closed(deps);
  const mails = await deps.mailbox.list(deps.db, null, maxListed);
  const rows = mails.map((mail) => {
    const { $id: id, $createdAt: at, to, subject, message } = mail;
    return pages.fragment('mailbox/row', { id, at, shownAt: timeOf(at), to, message, title: subject || 'SMS' });
  });
  const none = mails.length === 0 ? 'yes' : '';
  const fragments = { rows: (await Promise.all(rows)).join('') };
  return pages.render('mailbox/list', { heading: 'Mailbox', none }, { ...layout, fragments });
}

function closed({ pages }: Deps, stale = ''): Promise<HtmlPage> {
  return pages.render('mailbox/closed', { heading: 'The mailbox is closed', stale }, layout);
}

async function open(
  deps: Deps,
  { body, request }: { readonly body: { readonly token: string }; readonly request: RequestFacts },
): Promise<Redirect> {
  requireAvailable(deps, request);
  const secret = deps.mailboxAccess.redeem(body.token);
  if (secret === undefined) {
    if (request.prefersPage()) request.browser.showErrorAs(await closed(deps, 'yes'));
    throw new Failure('user_invalid_token');
  }
  request.browser.bind({ id: cookie, secret, lifeSeconds: mailboxSeconds, isPosted: false });
  return new Redirect(addressBelow(deps.config.baseUrl, 'mailbox'));
}

type OfMail = { readonly params: { readonly mailId: string }; readonly request: RequestFacts };

async function show(deps: Deps, { params: { mailId }, request }: OfMail): Promise<HtmlPage> {
  requireAvailable(deps, request);
  if (!isOpen(deps, request.browser)) return closed(deps);
  const { pages, mailbox, db } = deps;
  const mail = await mailbox.find(db, null, mailId);
  if (mail === undefined) throw new Failure('general_route_not_found');
  const { $createdAt: at, to, subject, message, locale, projectId, code, links, html: content } = mail;
  const values = {
    heading: subject || 'SMS',
    at,
    shownAt: timeOf(at),
    to,
    message,
    locale,
    project: projectId,
    code: code ?? '',
    text: mail.text.trimEnd() || 'The text is no longer stored.',
    hasLinks: links.length === 0 ? '' : 'yes',
    hasHtml: content,
  };
  const shownLinks = await Promise.all(links.map((href) => pages.fragment('mailbox/link', { href })));
  const frame = content === '' ? '' : await pages.fragment('mailbox/frame', { id: mailId });
  const fragments = { links: shownLinks.join(''), frame };
  return pages.render('mailbox/mail', values, { ...layout, fragments, hasFrames: true });
}

async function html(deps: Deps, { params: { mailId }, request }: OfMail): Promise<HtmlPage> {
  requireAvailable(deps, request);
  if (!isOpen(deps, request.browser)) return closed(deps);
  const mail = await deps.mailbox.find(deps.db, null, mailId);
  if (mail === undefined) throw new Failure('general_route_not_found');
  // Links open in a page of their own, because the frame may not show them.
  return { html: mail.html.replace(/<head>/i, '$&<base target="_blank">'), nonce: '', isMail: true };
}

/** A time for people, in UTC. */
function timeOf(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

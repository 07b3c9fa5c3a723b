import type { z } from 'zod';
import type { User } from '#src/contract/actor.js';
import type { Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { millisecondsOf } from '#src/platform/runtime/clock.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import type { identityListShape } from '../identities/index.js';
import type { passkeyListShape } from '../passkeys/index.js';
import type { Providers } from '../providers/index.js';
import type { factorsShape } from '../second-factor/index.js';
import type { sessionListShape } from '../sessions/index.js';
import type { AccountShown, Received, Values } from './account-parts.js';
import { brandOf } from './brands.js';
import { addressOf, type FormDeps, keptOf, run, type Submission } from './forms.js';
import { isAccountPage, type PageName } from './places.js';
import type { PageTexts } from './texts/en.js';
import { textsFor } from './texts/texts.js';

interface Deps extends Pick<Runtime, 'db' | 'pages'>, Pick<FormDeps, 'byId' | 'config'> {
  readonly providers: Providers;
}

type UserCall = Submission & { readonly actor: User };
type Lists = {
  readonly factors: z.output<typeof factorsShape>;
  readonly passkeys: z.output<typeof passkeyListShape>['passkeys'];
  readonly sessions: z.output<typeof sessionListShape>['sessions'];
  readonly identities: z.output<typeof identityListShape>['identities'];
};

const codes = lazy(() => import('#src/platform/images/qr-code.js'));
const shownTime = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const;
const shownIf = (isOn: boolean) => (isOn ? 'yes' : '');

/** Creates the function that reads the account for a page. It returns undefined for other pages and for visitors without a session. */
export function createAccountViews(deps: Deps): FormDeps['accountOf'] {
  return bind(deps, { accountOf }).accountOf;
}

async function accountOf(
  deps: Deps,
  call: Submission,
  name: PageName,
  received: Received = {},
): Promise<AccountShown | undefined> {
  const { actor } = call;
  if (!isAccountPage(name) || actor.kind !== 'user') return undefined;
  const { account } = actor;
  const values = { ...stateOf(call.project, actor, deps.config.smsUrl !== undefined), ...receivedValues(received) };
  const typed = name === 'account-name' && account.name !== '' ? { name: account.name } : {};
  if (name === 'account') return { ...(await overview(deps, { ...call, actor }, values)), typed };
  if (name === 'account-authenticator') {
    const { totp } = await run<Lists['factors']>(deps, call, 'account.listMfaFactors', {});
    const isOn = totp || account.mfa;
    const uri = isOn ? undefined : received.uri;
    const step = { begins: shownIf(!isOn && uri === undefined), isOn: shownIf(isOn) };
    const shown = { ...values, ...receivedValues({ uri }), ...step };
    return { values: shown, fragments: { qr: await qr(deps, uri) }, typed };
  }
  return {
    values,
    fragments: { codes: await listed(deps, 'code', received.codes ?? [], (code) => ({ code })) },
    typed,
  };
}

/** The state of the account as values of a page. */
function stateOf({ settings }: Project, { account }: User, hasSms: boolean): Values {
  const { name, email, phone, passwordHash } = account;
  const hasPassword = passwordHash !== null;
  return {
    ownName: name,
    ownEmail: email ?? '',
    ownPhone: phone ?? '',
    hasPassword: shownIf(hasPassword),
    lacksPassword: shownIf(!hasPassword),
    canSetPassword: shownIf(hasPassword || (email !== null && settings['login.password'])),
    emailUnproved: shownIf(email !== null && !account.emailVerification),
    phoneUnproved: shownIf(phone !== null && !account.phoneVerification && hasSms),
    takesPhone: shownIf(hasSms || phone !== null),
  };
}

function receivedValues({ uri, codes }: Received): Values {
  const seed = uri === undefined ? '' : (new URL(uri).searchParams.get('secret') ?? '');
  return {
    uri: uri ?? '',
    seed: seed.replace(/(.{4})(?=.)/g, '$1 '),
    hasCodes: shownIf(codes !== undefined),
    lacksCodes: shownIf(codes === undefined),
  };
}

async function qr({ pages }: Deps, uri: string | undefined): Promise<string> {
  if (uri === undefined) return '';
  const { side, path } = (await codes.get()).qrCode(uri);
  // Scanners need a margin of four modules (ISO/IEC 18004 §6.3.8).
  return pages.fragment('account/qr', { side: String(side + 8), path });
}

async function overview(deps: Deps, call: UserCall, state: Values): Promise<Omit<AccountShown, 'typed'>> {
  const { project, actor, request } = call;
  const { language, texts } = textsFor(request.locale);
  const lists = await read(deps, call);
  const { factors, passkeys, sessions, identities } = lists;
  const dated = (instant: string) =>
    `${new Intl.DateTimeFormat(language, shownTime).format(millisecondsOf(instant))} UTC`;
  const offered = await deps.providers.offered(deps.db, project);
  const query = { ...texts, ...queryOf(deps, call) };
  const own = actor.session.device;
  return {
    values: {
      ...state,
      ...statesOf(actor, factors, texts),
      hasFactor: shownIf(factors.totp),
      codesState: factors.recoveryCode ? texts.codesLeft : texts.noCodesLeft,
      takesPasskey: shownIf(project.settings['login.passkey']),
      hasIdentities: shownIf(identities.length > 0),
      hasOthers: shownIf(sessions.length > 1),
      newPasskeyName: [own.clientName, own.osName].filter((part) => part !== '').join(', '),
      signInAgain: signInAgain(deps, call),
    },
    fragments: {
      passkeys: await listed(deps, 'passkey', passkeys, ({ $id, $createdAt, name }) => ({
        ...query,
        id: $id,
        passkeyName: name === '' ? texts.passkey : name,
        at: texts.addedAt.replace('{date}', dated($createdAt)),
      })),
      identities: await listed(deps, 'identity', identities, ({ $id, provider, providerEmail, providerUid }) => ({
        ...query,
        id: $id,
        provider: brandOf(offered.find(({ key }) => key === provider) ?? { key: provider, name: provider }),
        address: providerEmail === '' ? providerUid : providerEmail,
      })),
      sessions: await listed(deps, 'session', sessions, (session) => ({
        ...query,
        id: session.$id,
        device: deviceOf(session, texts),
        current: session.current ? texts.thisBrowser : '',
        other: shownIf(!session.current),
        at: [texts.since.replace('{date}', dated(session.$createdAt)), session.ip]
          .filter((part) => part !== '')
          .join(' · '),
      })),
    },
  };
}

async function read(deps: Deps, call: UserCall): Promise<Lists> {
  const get = <T>(id: string) => run<T>(deps, call, id, {});
  return {
    factors: await get<Lists['factors']>('account.listMfaFactors'),
    ...(await get<Pick<Lists, 'passkeys'>>('account.listPasskeys')),
    ...(await get<Pick<Lists, 'sessions'>>('account.listSessions')),
    ...(await get<Pick<Lists, 'identities'>>('account.listIdentities')),
  };
}

/** Texts of the overview: the state of each part of the account, and the link to change it. */
function statesOf({ account }: User, { totp }: Lists['factors'], texts: PageTexts): Values {
  const { email, phone, passwordHash } = account;
  const hasFactor = totp || account.mfa;
  return {
    emailState: email ?? texts.none,
    emailAction: email === null ? texts.add : texts.change,
    phoneState: phone ?? texts.none,
    phoneAction: phone === null ? texts.add : texts.change,
    passwordState: passwordHash === null ? texts.notSet : texts.isSet,
    passwordAction: passwordHash === null ? texts.add : texts.change,
    authenticatorState: hasFactor ? texts.isOn : texts.isOff,
    authenticatorAction: hasFactor ? texts.turnOff : texts.setUp,
  };
}

/** The query of the forms on the overview. */
function queryOf(deps: Deps, call: UserCall): Values {
  const kept = keptOf(call);
  const failure = addressOf(deps, 'account', kept).href;
  return { query: addressOf(deps, '', { ...kept, failure }).searchParams.toString() };
}

/** The sign-in page, which leads back to the account. */
function signInAgain(deps: Deps, call: UserCall): string {
  const success = addressOf(deps, 'account', keptOf(call)).href;
  return addressOf(deps, 'sign-in', { project: call.project.id, success, error: 'user_challenge_required' }).href;
}

function deviceOf({ clientName, osName }: Lists['sessions'][number], texts: PageTexts): string {
  if (clientName === '') return osName === '' ? texts.unknownDevice : osName;
  return osName === '' ? clientName : texts.browserOn.replace('{browser}', clientName).replace('{system}', osName);
}

/** Renders each entry of a list. */
async function listed<T>(
  { pages }: Deps,
  template: string,
  entries: readonly T[],
  valuesOf: (entry: T) => Values,
): Promise<string> {
  return (await Promise.all(entries.map((entry) => pages.fragment(`account/${template}`, valuesOf(entry))))).join('\n');
}

import { statSync } from 'node:fs';
import { lintTexts, messageNames } from '#src/features/index.js';
import { toProblem } from '#src/platform/config/config-error.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import { isAtOtherPort, isOnLocalhost } from '#src/platform/config/localhost.js';
import { tlsFileProblems, tlsTimeProblem, tlsValidity } from '#src/platform/config/tls-files.js';
import { createTemplates } from '#src/platform/templates/templates.js';
import { fileStoreProblems, repeatedSettings, templatesProblems } from '../installation/settings-problems.js';
import { settingsAtRisk } from '../serving/start-report.js';
import { shellWord } from '../terminal/exit.js';
import type { Check } from './check.js';
import { type DoctorFinding, found } from './finding.js';

/** Mode bits that give access to all users of the machine. */
export const everybody = 0o007;

/** Checks that only need the settings. */
export const settingsChecks: readonly Check<LoadedConfig>[] = [
  {
    name: 'the names of settings',
    run: (loaded) => [
      ...loaded.unknownNames.map((name) =>
        found('setting_unknown', `The environment has ${name}, which is not a setting.`, 'correct or remove it'),
      ),
      ...repeatedSettings(loaded).map((sentence) =>
        found('setting_repeated', `${sentence}.`, 'remove all of these lines but one'),
      ),
    ],
  },
  {
    name: 'the settings file',
    run: ({ file }) => {
      if (file === null || (statSync(file).mode & everybody) === 0) return [];
      const message = `Everybody on this machine can use ${file}, which holds the master key.`;
      return [found('settings_file_readable', message, `chmod o-rwx ${shellWord(file)}`)];
    },
  },
  {
    name: 'settings that are not for production',
    run: ({ config }) =>
      settingsAtRisk(config).map(({ setting, code, meaning, fix }) =>
        found(code, `${setting} is set: ${meaning}.`, fix),
      ),
  },
  { name: 'the certificate', run: certificate },
  { name: 'the public address', run: publicAddress },
  {
    name: 'the mail settings',
    run: ({ config }) => {
      if (config.smtpUrl !== undefined || isOnLocalhost(config.baseUrl)) return [];
      const message = 'No mail server is configured: invitations, verification and recovery reach nobody.';
      return [found('mail_not_configured', message, 'set SVC_SMTP_URL and SVC_MAIL_FROM')];
    },
  },
  {
    name: 'the templates of messages',
    alone: 'svc mail check',
    run: async ({ config }) => {
      const missing = templatesProblems(config);
      if (missing.length > 0)
        return missing.map((problem) => found('templates_missing', `${problem}.`, 'correct SVC_TEMPLATES_DIR'));
      const faults = await lintTexts(createTemplates(config), messageNames);
      const fix = (file: string) => `correct ${file}, or remove it to use that of svc`;
      return faults.map(({ file, line, message }) =>
        found('template_faulty', `${file}:${line}: ${message}`, fix(file)),
      );
    },
  },
  {
    name: 'the directories of files',
    run: async ({ config }) => {
      // Testing a file service requires a write, which only `svc config check` does.
      const problems = await fileStoreProblems(config, async () => undefined);
      return problems.map((problem) =>
        found('file_store_unusable', `${problem}.`, 'correct the setting, or the permissions of the directory'),
      );
    },
  },
  {
    name: 'the move of files',
    run: ({ config }) => {
      if (config.filesFrom === undefined) return [];
      const message = 'SVC_FILES_FROM is set: a move of the files to another store is not finished.';
      return [found('files_move_unfinished', message, 'svc files move --yes')];
    },
  },
];

function certificate({ config }: LoadedConfig): DoctorFinding[] {
  const problems = tlsFileProblems(config);
  if (problems.length > 0)
    return problems.map(toProblem).map(({ message, fix }) => found('tls_unusable', `${message}.`, fix));
  const validity = tlsValidity(config);
  if (validity === undefined) return [];
  const problem = tlsTimeProblem(validity, Date.now());
  if (problem === undefined) return [];
  const code = problem.code === 'expired' ? 'tls_expired' : 'tls_expires_soon';
  return [
    found(
      code,
      `${problem.message}.`,
      `renew the certificate in ${config.tlsCert}, then systemctl reload svc, or SIGHUP`,
    ),
  ];
}

function publicAddress({ config }: LoadedConfig): DoctorFinding[] {
  const { baseUrl, port, tlsCert, trustedProxies } = config;
  if (isAtOtherPort(baseUrl, port)) {
    const message = `SVC_BASE_URL is ${baseUrl}, but the server listens on port ${port}.`;
    const fix = 'let SVC_BASE_URL name the port; nothing, if a proxy forwards';
    return [found('base_url_port', message, fix)];
  }
  if (isOnLocalhost(baseUrl)) return [];
  if (new URL(baseUrl).protocol === 'http:') {
    const message = `SVC_BASE_URL is ${baseUrl}: passwords and sessions cross the network unencrypted.`;
    return [
      found(
        'base_url_insecure',
        message,
        'serve https by a proxy or SVC_TLS_CERT, and let SVC_BASE_URL begin with https:',
      ),
    ];
  }
  if (tlsCert !== undefined || trustedProxies.length > 0) return [];
  const message =
    'A proxy speaks https for this server, but SVC_TRUSTED_PROXIES is not set: all clients share its address and its rate limits.';
  return [
    found('proxies_untrusted', message, 'set SVC_TRUSTED_PROXIES to the address of the proxy, such as 127.0.0.1/32'),
  ];
}

import { createRequire } from 'node:module';
import type { Device } from '#src/contract/session.js';

/** More of a user agent string tells nothing about the browser. */
const maxCharacters = 512;

/** The device of a session that nobody opened from one. */
export const unknownDevice: Device = {
  osCode: '',
  osName: '',
  osVersion: '',
  clientType: '',
  clientCode: '',
  clientName: '',
  clientVersion: '',
  clientEngine: '',
  clientEngineVersion: '',
  deviceName: '',
  deviceBrand: '',
  deviceModel: '',
};

/** Codes of systems, by the parser's names. */
const systems: Readonly<Record<string, string>> = {
  Windows: 'WIN',
  macOS: 'MAC',
  Linux: 'LIN',
  Android: 'AND',
  iOS: 'IOS',
  'Chrome OS': 'COS',
};
/** Codes and names of browsers on a desktop, by the parser's names. */
const browsers: Readonly<Record<string, readonly [code: string, name: string]>> = {
  Chrome: ['CH', 'Chrome'],
  Chromium: ['CR', 'Chromium'],
  Firefox: ['FF', 'Firefox'],
  Safari: ['SF', 'Safari'],
  'Microsoft Edge': ['PS', 'Microsoft Edge'],
  Opera: ['OP', 'Opera'],
  'Internet Explorer': ['IE', 'Internet Explorer'],
  'Samsung Internet for Android': ['SB', 'Samsung Browser'],
  Vivaldi: ['VI', 'Vivaldi'],
  Brave: ['BR', 'Brave'],
  'Yandex Browser': ['YA', 'Yandex Browser'],
  'UC Browser': ['UC', 'UC Browser'],
};
/** Those that have a code of their own on phones and tablets. */
const mobileBrowsers: typeof browsers = {
  Chrome: ['CM', 'Chrome Mobile'],
  Firefox: ['FM', 'Firefox Mobile'],
  Safari: ['MF', 'Mobile Safari'],
  Opera: ['OM', 'Opera Mobile'],
};
const deviceNames: Readonly<Record<string, string>> = { mobile: 'smartphone' };

/** Reads from a user agent string what it tells about browser, system and device. */
export function createDeviceReader(): (userAgent: string) => Device {
  const bowser = createLoader();
  return (userAgent) => {
    const text = userAgent.slice(0, maxCharacters);
    if (text === '') return unknownDevice;
    const { browser, os, platform, engine } = bowser().parse(text);
    const isMobile = platform.type === 'mobile' || platform.type === 'tablet';
    const code = (isMobile ? mobileBrowsers[browser.name ?? ''] : undefined) ?? browsers[browser.name ?? ''];
    const system = {
      osCode: systems[os.name ?? ''] ?? '',
      osName: os.name ?? '',
      // Windows calls its versions otherwise than people do.
      osVersion: (os.name === 'Windows' ? os.versionName : os.version) ?? '',
      deviceName: deviceNames[platform.type ?? ''] ?? platform.type ?? '',
      deviceBrand: platform.vendor ?? '',
      deviceModel: platform.model ?? '',
    };
    if (engine.name === undefined) return { ...unknownDevice, ...system, ...libraryOf(text) };
    return {
      ...system,
      clientType: 'browser',
      clientCode: code?.[0] ?? '',
      clientName: code?.[1] ?? browser.name ?? '',
      clientVersion: browser.version ?? '',
      clientEngine: engine.name,
      clientEngineVersion: engine.version ?? '',
    };
  };
}

/** What is no browser names itself first: `curl/8.1.2`. */
function libraryOf(text: string): Pick<Device, 'clientType' | 'clientName' | 'clientVersion'> {
  const [, clientName = '', clientVersion = ''] =
    /^([A-Za-z][\w.+-]{0,63})(?:\/([\w.+-]{1,32}))?(?:\s|$)/.exec(text) ?? [];
  return { clientType: clientName === '' ? '' : 'library', clientName, clientVersion };
}

/** Loads the parser at the first login. Not by `import()`: a unit of work cannot wait for it. */
function createLoader(): () => typeof import('bowser') {
  const require = createRequire(import.meta.url);
  let loaded: typeof import('bowser') | undefined;
  return () => {
    loaded ??= require('bowser') as typeof import('bowser');
    return loaded;
  };
}

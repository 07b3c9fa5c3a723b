const names: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  en: {
    totp: 'authenticator app',
    email: 'code by email',
    phone: 'code by text message',
    passkey: 'passkey',
    recoverycode: 'recovery codes',
  },
  de: {
    totp: 'Authenticator-App',
    email: 'Code per E-Mail',
    phone: 'Code per SMS',
    passkey: 'Passkey',
    recoverycode: 'Wiederherstellungscodes',
  },
  es: {
    totp: 'aplicación de autenticación',
    email: 'código por correo electrónico',
    phone: 'código por SMS',
    passkey: 'llave de acceso',
    recoverycode: 'códigos de recuperación',
  },
  fr: {
    totp: 'application d’authentification',
    email: 'code par e-mail',
    phone: 'code par SMS',
    passkey: 'clé d’accès',
    recoverycode: 'codes de secours',
  },
  pt: {
    totp: 'aplicação de autenticação',
    email: 'código por e-mail',
    phone: 'código por SMS',
    passkey: 'chave de acesso',
    recoverycode: 'códigos de recuperação',
  },
};

/** The display name of a second factor in a language; English for other languages. */
export function factorName(factor: string, language: string): string {
  const tag = language.split('-')[0]?.toLowerCase() ?? '';
  return (names[tag] ?? names.en)?.[factor] ?? factor;
}

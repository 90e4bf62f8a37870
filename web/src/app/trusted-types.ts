interface TrustedTypesFactory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): unknown;
}

/**
 * The content security policy asks for trusted types. The only script that is ever added at run time is the one with which Firebase
 * signs in through Google; everything else that would turn text into code or HTML fails.
 */
export function allowGoogleSignInScript(): void {
  const factory = (globalThis as { trustedTypes?: TrustedTypesFactory }).trustedTypes;
  factory?.createPolicy('default', {
    createScriptURL(url) {
      if (new URL(url, location.href).origin === 'https://apis.google.com') return url;
      throw new TypeError(`no script may be loaded from ${url}`);
    },
  });
}

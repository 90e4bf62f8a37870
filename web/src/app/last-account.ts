const STORAGE_KEY = 'kiln.account';

export function lastAccount(): string | null {
  return localStorage.getItem(STORAGE_KEY);
}

export function rememberAccount(accountId: string): void {
  localStorage.setItem(STORAGE_KEY, accountId);
}

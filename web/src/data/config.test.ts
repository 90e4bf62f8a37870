import { expect, test } from 'vitest';
import { environmentOf } from './config.ts';

test('a demo project uses the emulators, on the ports of firebase.json unless others are named', () => {
  const plain = environmentOf({ projectId: 'demo-kiln', apiKey: 'fake' }, '127.0.0.1');
  expect(plain.emulators?.firestore).toEqual({ host: '127.0.0.1', port: 8080 });
  const named = environmentOf({ projectId: 'demo-kiln', emulators: { firestore: 'localhost:9000' } }, '127.0.0.1');
  expect(named.emulators?.firestore).toEqual({ host: 'localhost', port: 9000 });
  expect(named.emulators?.auth).toEqual({ host: '127.0.0.1', port: 9099 });
});

test('a real project never connects to an emulator, whatever it is told', () => {
  expect(environmentOf({ projectId: 'acme', apiKey: 'k', emulators: { firestore: 'evil:1' } }, 'acme.web.app').emulators).toBeUndefined();
});

test('without a project there is nothing to connect to', () => {
  expect(() => environmentOf({}, 'x')).toThrow('names no project');
});

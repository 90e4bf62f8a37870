import { expect, test } from 'vitest';
import { crc32 } from 'node:zlib';
import { launcherJar } from './launcher-jar.ts';

function manifestIn(jar: Buffer): string {
  const size = jar.readUInt32LE(22);
  const start = 30 + jar.readUInt16LE(26);
  const content = jar.subarray(start, start + size);
  expect(jar.readUInt32LE(14)).toBe(crc32(content));
  return content.toString('utf8');
}

test('the launcher jar names the main class and the path of the emulator', () => {
  const manifest = manifestIn(launcherJar('/opt/sdk/emulator.jar'));
  expect(manifest).toContain('Main-Class: com.google.cloud.datastore.emulator.firestore.CloudFirestore\r\n');
  expect(manifest).toContain('Class-Path: file:///opt/sdk/emulator.jar\r\n');
});

test('a long path with a space and an umlaut is escaped and folded at 72 bytes', () => {
  const path = `/opt/a folder/${'deep/'.repeat(40)}ümulator.jar`;
  const manifest = manifestIn(launcherJar(path));
  for (const line of manifest.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(72);
  expect(manifest.replaceAll('\r\n ', '')).toContain('/opt/a%20folder/deep/');
});

test('the archive ends with a directory of one entry that points at its beginning', () => {
  const jar = launcherJar('/opt/emulator.jar');
  const end = jar.subarray(-22);
  expect(end.readUInt32LE(0)).toBe(0x06054b50);
  expect(end.readUInt16LE(10)).toBe(1);
  const centralOffset = end.readUInt32LE(16);
  expect(jar.readUInt32LE(centralOffset)).toBe(0x02014b50);
  expect(jar.readUInt32LE(centralOffset + 42)).toBe(0);
});

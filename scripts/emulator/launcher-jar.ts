/**
 * The Google Cloud SDK ships the Firestore emulator as a jar without a main class. A jar that holds nothing but a manifest
 * with the class and the path makes `java -jar` work. A jar is a zip file; one stored entry needs forty lines.
 */
import { crc32 } from 'node:zlib';
import { pathToFileURL } from 'node:url';

const MAIN_CLASS = 'com.google.cloud.datastore.emulator.firestore.CloudFirestore';
const MANIFEST = 'META-INF/MANIFEST.MF';
const MANIFEST_LINE_BYTES = 72;

/** A manifest line is at most 72 bytes; a continuation starts with a space. */
function manifestLine(text: string): string {
  let rest = text;
  const lines: string[] = [];
  while (rest.length > MANIFEST_LINE_BYTES) {
    lines.push(rest.slice(0, MANIFEST_LINE_BYTES));
    rest = ` ${rest.slice(MANIFEST_LINE_BYTES)}`;
  }
  return [...lines, rest].join('\r\n');
}

/** `pathToFileURL` escapes everything that is not ASCII, so that characters are bytes in `manifestLine`. */
function manifestFor(emulatorJar: string): string {
  return [
    'Manifest-Version: 1.0',
    `Main-Class: ${MAIN_CLASS}`,
    manifestLine(`Class-Path: ${pathToFileURL(emulatorJar).href}`),
    '',
    '',
  ].join('\r\n');
}

/** Writes `[size, value]` pairs little-endian, as zip headers want them. */
function packed(fields: readonly (readonly [2 | 4, number])[]): Buffer {
  return Buffer.concat(
    fields.map(([size, value]) => {
      const bytes = Buffer.alloc(size);
      if (size === 2) bytes.writeUInt16LE(value);
      else bytes.writeUInt32LE(value);
      return bytes;
    }),
  );
}

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_CENTRAL = 0x06054b50;
const VERSION = 20;
const JANUARY_1980 = 0x21;

/** A zip archive with one uncompressed entry. */
function zipOf(name: string, content: Buffer): Buffer {
  const nameBytes = Buffer.from(name, 'ascii');
  const shared = [
    [2, VERSION],
    [2, 0], // flags
    [2, 0], // stored
    [2, 0], // time
    [2, JANUARY_1980],
    [4, crc32(content)],
    [4, content.length],
    [4, content.length],
    [2, nameBytes.length],
    [2, 0], // extra field
  ] as const;
  const local = Buffer.concat([packed([[4, LOCAL_HEADER], ...shared]), nameBytes, content]);
  const comment = [
    [2, 0], // comment
    [2, 0], // disk
    [2, 0], // internal attributes
    [4, 0], // external attributes
    [4, 0], // offset of the local header
  ] as const;
  const central = Buffer.concat([packed([[4, CENTRAL_HEADER], [2, VERSION], ...shared, ...comment]), nameBytes]);
  const end = packed([
    [4, END_OF_CENTRAL],
    [2, 0],
    [2, 0],
    [2, 1],
    [2, 1],
    [4, central.length],
    [4, local.length],
    [2, 0],
  ]);
  return Buffer.concat([local, central, end]);
}

export function launcherJar(emulatorJar: string): Buffer {
  return zipOf(MANIFEST, Buffer.from(manifestFor(emulatorJar), 'utf8'));
}

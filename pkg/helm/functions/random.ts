import type { Random } from "../../clock/random.ts"
import { uuid } from "../../clock/random.ts"
import { goInt } from "../../go-fmt/go-number.ts"
import { GoObject } from "../../go-fmt/go-object.ts"
import { failCall } from "../../go-template/function-error.ts"
import type { TemplateFunction } from "../../go-template/functions.ts"
import {
  createCa,
  issueCertificate,
  newPrivateKey,
  type CertificatePair,
  type Validity,
} from "../../pki/certificate.ts"
import { bcrypt } from "../../runtime/bcrypt.ts"
import { anyOf, list, text, whole } from "./convert.ts"

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const DIGITS = "0123456789"
const ASCII = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("")
const MOST = 100_000
const DAY_MS = 86_400_000

function randomText(random: Random, signs: string, count: number): string {
  if (count < 0 || count > MOST) failCall(`cannot make ${count} random characters`)
  let out = ""
  // Bytes beyond the last whole multiple are left out, so that all characters are equally likely.
  const most = 256 - (256 % signs.length)
  while (out.length < count)
    for (const byte of random.bytes(count - out.length)) if (byte < most) out += signs[byte % signs.length]
  return out
}

const pairObject = ({ certPem, keyPem }: CertificatePair): GoObject =>
  new GoObject({ type: "sprig.certificate", fields: { Cert: certPem, Key: keyPem } })

const pairOf = (value: unknown): CertificatePair =>
  value instanceof GoObject && typeof value.fields["Cert"] === "string"
    ? { certPem: value.fields["Cert"], keyPem: String(value.fields["Key"]) }
    : failCall("wrong type for value; expected sprig.certificate")

const fromBase64 = (value: unknown): string => Buffer.from(text(value), "base64").toString("utf8")

/** Functions that draw numbers or make keys. Keys are of elliptic curves; sprig makes RSA keys. */
export function randomFunctions(random: Random, now: () => number): Readonly<Record<string, TemplateFunction>> {
  const validity = (days: unknown): Validity => ({
    notBefore: new Date(now()),
    notAfter: new Date(now() + whole(days) * DAY_MS),
  })
  const leaf = (
    ca: CertificatePair,
    name: unknown,
    addresses: unknown,
    names: unknown,
    days: unknown,
    keyPem?: string,
  ) =>
    issueCertificate(ca, {
      ...(keyPem === undefined ? {} : { keyPem }),
      subject: { commonName: text(name), organizations: [] },
      usages: ["server", "client"],
      dnsNames: (names === null ? [] : list(names)).map(text),
      ipAddresses: (addresses === null ? [] : list(addresses)).map(text),
      validity: validity(days),
    })
  return {
    randAlphaNum: anyOf((count) => randomText(random, LETTERS + DIGITS, whole(count))),
    randAlpha: anyOf((count) => randomText(random, LETTERS, whole(count))),
    randNumeric: anyOf((count) => randomText(random, DIGITS, whole(count))),
    randAscii: anyOf((count) => randomText(random, ASCII, whole(count))),
    randBytes: anyOf((count) =>
      whole(count) <= MOST ? Buffer.from(random.bytes(whole(count))).toString("base64") : failCall("too many bytes"),
    ),
    randInt: anyOf((from, to) => goInt(whole(from) + Math.floor(random.next() * (whole(to) - whole(from))))),
    shuffle: anyOf((value) => {
      const signs = Array.from(text(value))
      for (let i = signs.length - 1; i > 0; i--) {
        const j = Math.floor(random.next() * (i + 1))
        ;[signs[i], signs[j]] = [signs[j]!, signs[i]!]
      }
      return signs.join("")
    }),
    uuidv4: anyOf(() => uuid(random)),
    genPrivateKey: anyOf(() => newPrivateKey()),
    genCA: anyOf((name, days) => pairObject(createCa({ commonName: text(name), validity: validity(days) }))),
    genSelfSignedCert: anyOf((name, addresses, names, days) =>
      pairObject(leaf(createCa({ commonName: text(name), validity: validity(days) }), name, addresses, names, days)),
    ),
    genSignedCert: anyOf((name, addresses, names, days, ca) =>
      pairObject(leaf(pairOf(ca), name, addresses, names, days)),
    ),
    genCAWithKey: anyOf((name, days, key) =>
      pairObject(createCa({ commonName: text(name), validity: validity(days), keyPem: text(key) })),
    ),
    genSelfSignedCertWithKey: anyOf((name, addresses, names, days, key) =>
      pairObject(
        leaf(createCa({ commonName: text(name), validity: validity(days) }), name, addresses, names, days, text(key)),
      ),
    ),
    genSignedCertWithKey: anyOf((name, addresses, names, days, ca, key) =>
      pairObject(leaf(pairOf(ca), name, addresses, names, days, text(key))),
    ),
    buildCustomCert: anyOf((certificate, key) =>
      pairObject({ certPem: fromBase64(certificate), keyPem: fromBase64(key) }),
    ),
    bcrypt: anyOf((password) => bcrypt(text(password))),
    htpasswd: anyOf((user, password) =>
      text(user).includes(":") ? `invalid username: ${text(user)}` : `${text(user)}:${bcrypt(text(password))}`,
    ),
  }
}

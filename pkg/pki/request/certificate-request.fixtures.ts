import { Buffer } from "node:buffer"
import { generateKeyPairSync, sign } from "node:crypto"
import { bitString, explicit, implicit, integer, octetString, oid, sequence, set, utf8String } from "../der/der.ts"

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })

/** The key with which requests are signed, as PEM. */
export const requestKey = privateKey.export({ type: "pkcs8", format: "pem" }).toString()

/** Returns a PKCS #10 request as the base64 of its PEM, signed with a key of this process. */
export function signedRequest(
  commonName: string,
  organization: string,
  dnsName?: string,
  address?: readonly number[],
): string {
  const attribute = (type: string, value: string) => set(sequence(oid(type), utf8String(value)))
  const names = sequence(
    implicit(2, Buffer.from(dnsName ?? "")),
    ...(address === undefined ? [] : [implicit(7, Buffer.from(address))]),
  )
  const extensions = sequence(
    oid("1.2.840.113549.1.9.14"),
    set(sequence(sequence(oid("2.5.29.17"), octetString(names)))),
  )
  const info = sequence(
    integer(Buffer.from([0])),
    sequence(attribute("2.5.4.10", organization), attribute("2.5.4.3", commonName)),
    publicKey.export({ type: "spki", format: "der" }),
    dnsName === undefined ? explicit(0) : explicit(0, extensions),
  )
  const der = sequence(info, sequence(oid("1.2.840.10045.4.3.2")), bitString(sign("sha256", info, privateKey)))
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`
  return Buffer.from(pem).toString("base64")
}

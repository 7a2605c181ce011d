import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { createPrivateKey } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { OtherAuthority } from "./given-certificates.fixtures.ts"
import { readServingPair } from "./serving-pair.ts"

let authority: OtherAuthority
beforeAll(() => (authority = new OtherAuthority()))
afterAll(() => authority[Symbol.dispose]())

const at = (name: string) => join(authority.dir, name)
const file = (name: string, text: string) => {
  writeFileSync(at(name), text)
  return at(name)
}

test("a pair has its names in lower case, without addresses, and with the common name where that is a name", () => {
  const names = ["API.example.org", "*.example.org"]
  const read = (commonName: string) =>
    readServingPair(authority.write("names", authority.issue(commonName, names, ["192.0.2.1"])))
  expect(read("Web.example.org")).toMatchObject({
    commonNames: ["web.example.org"],
    dnsNames: ["api.example.org", "*.example.org"],
  })
  expect(read("192.0.2.1").commonNames).toEqual([])
  expect(read("The API of Example").commonNames).toEqual([])
  expect(read("*").commonNames).toEqual(["*"])
})

test("intermediates behind the certificate, an older form of the key, and text around them are taken", () => {
  const { certPem, keyPem } = authority.issue("api.example.org")
  const older = createPrivateKey(keyPem).export({ type: "sec1", format: "pem" }).toString()
  const pair = readServingPair({
    certFile: file("chain.crt", `Bag Attributes\n${certPem}\n${authority.ca}`),
    keyFile: file("older.key", `Key Attributes: <No Attributes>\n${older}`),
  })
  expect(pair.dnsNames).toEqual(["api.example.org"])
})

describe("a pair is refused, with the file and the mend,", () => {
  const good = () => authority.issue("api.example.org")
  test.each<[title: string, make: () => { certFile: string; keyFile: string }, message: () => string]>([
    [
      "where the key belongs to another certificate",
      () => ({ ...authority.write("a", good()), keyFile: authority.write("b", good()).keyFile }),
      () => `${at("b.key")}: is not the key of the first certificate of ${at("a.crt")}: give its own key`,
    ],
    [
      "where the authority comes first",
      () => {
        const { certPem, keyPem } = good()
        return { certFile: file("wrong.crt", authority.ca + certPem), keyFile: file("wrong.key", keyPem) }
      },
      () => "put the server's certificate before its authorities",
    ],
    [
      "where a file is missing",
      () => ({ ...authority.write("c", good()), keyFile: at("none.key") }),
      () => `${at("none.key")}: there is no such file`,
    ],
    [
      "where a file is empty",
      () => ({ ...authority.write("d", good()), certFile: file("e.crt", " \n") }),
      () => `${at("e.crt")}: is empty`,
    ],
    [
      "where the certificate is a key",
      () => {
        const { keyFile } = authority.write("f", good())
        return { certFile: keyFile, keyFile }
      },
      () => `${at("f.key")}: has no certificate in PEM`,
    ],
    [
      "where the key is a certificate",
      () => {
        const { certFile } = authority.write("g", good())
        return { certFile, keyFile: certFile }
      },
      () => `${at("g.crt")}: has no private key in PEM`,
    ],
    [
      "where a certificate is damaged",
      () => ({
        ...authority.write("h", good()),
        certFile: file("h.crt", good().certPem.replace(/\n.{10}/, "\nAAAAAAAAAA")),
      }),
      () => `${at("h.crt")}: certificate 1: cannot be read`,
    ],
    [
      "where the key has a passphrase",
      () => {
        const { certPem, keyPem } = good()
        const key = createPrivateKey(keyPem).export({
          type: "pkcs8",
          format: "pem",
          cipher: "aes-256-cbc",
          passphrase: "x",
        })
        return { certFile: file("i.crt", certPem), keyFile: file("i.key", key.toString()) }
      },
      () => `${at("i.key")}: is encrypted: write it without a passphrase, as by openssl pkey -in`,
    ],
    [
      "where a file is a folder",
      () => {
        mkdirSync(at("folder"))
        return { ...authority.write("j", good()), certFile: at("folder") }
      },
      () => `Cannot read ${at("folder")}: it is a folder`,
    ],
    [
      "where a file is a FIFO, which nobody writes to",
      () => {
        spawnSync("mkfifo", [at("fifo")])
        return { ...authority.write("k", good()), keyFile: at("fifo") }
      },
      () => `Cannot read ${at("fifo")}: it is a FIFO`,
    ],
  ])("%s", (_title, make, message) => {
    expect(() => readServingPair(make())).toThrow(message())
  })
})

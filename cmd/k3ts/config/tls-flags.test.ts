import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { resolveFlags, splitArguments } from "../cli/parse.ts"
import { k3sFlags } from "../k3s/flags.ts"
import { serverFlags } from "./server-flags.ts"
import { serverVocabulary } from "./server-vocabulary.ts"
import { givenCertificatesOf } from "./tls-flags.ts"

const given = (...argv: readonly string[]) =>
  givenCertificatesOf(
    resolveFlags(serverFlags, {
      written: splitArguments([...argv], serverFlags, k3sFlags),
      env: { K3TS_CONFIG: "/dev/null" },
      config: serverVocabulary,
    }),
  ).givenCertificates

const dir = mkdtempSync(join(tmpdir(), "k3ts-tls-"))
afterAll(() => rmSync(dir, { recursive: true }))
for (const name of ["a", "b", "c"]) for (const end of ["crt", "key"]) writeFileSync(join(dir, `${name}.${end}`), "")
/** Puts the files `/a.crt` and so on of a text into the folder. */
const there = (text: string): string => text.replaceAll(/\/([abc]\.(?:crt|key))/g, (_, name: string) => join(dir, name))

describe("certificates for the API server's port", () => {
  test("are none without flags", () => expect(given()).toBeUndefined())

  test("are one for everybody, and further ones with names, in their order, also by --kube-apiserver-arg", () => {
    expect(
      given(
        ...[
          "--tls-cert-file=/a.crt",
          "--kube-apiserver-arg=tls-private-key-file=/a.key",
          "--tls-sni-cert-key=/b.crt,/b.key",
          "--kube-apiserver-arg=tls-sni-cert-key= /c.crt , /c.key : *.c.example.org , c.example.org ",
        ].map(there),
      ),
    ).toEqual({
      usual: { certFile: there("/a.crt"), keyFile: there("/a.key") },
      named: [
        { certFile: there("/b.crt"), keyFile: there("/b.key"), patterns: [] },
        { certFile: there("/c.crt"), keyFile: there("/c.key"), patterns: ["*.c.example.org", "c.example.org"] },
      ],
    })
  })

  test.each([
    [["--tls-cert-file=/a.crt"], "--tls-cert-file /a.crt needs its key: give --tls-private-key-file FILE"],
    [
      ["--tls-private-key-file=/a.key"],
      "--tls-private-key-file /a.key needs its certificate: give --tls-cert-file FILE",
    ],
    [["--tls-sni-cert-key=/a.crt"], "must be CERT,KEY, two files"],
    [["--tls-sni-cert-key=/a.crt,/a.key,/b.key"], "must be CERT,KEY, two files"],
    [["--tls-sni-cert-key=/a.crt,/a.key:"], '"" must be a DNS name or *.NAME'],
    [["--tls-sni-cert-key=/a.crt,/a.key:a.*.example.org"], '"a.*.example.org" must be a DNS name or *.NAME'],
    [
      ["--tls-sni-cert-key=/a.crt,/a.key:192.0.2.7"],
      "clients that come to 192.0.2.7 get the cluster's own certificate",
    ],
  ])("are refused: %j", (argv, message) => expect(() => given(...argv.map(there))).toThrow(there(message)))
})

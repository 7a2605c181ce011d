import { describe, expect, test } from "bun:test"
import { connect as connectTls } from "node:tls"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import { ingressOf, pairFor, rule, serving } from "../ingress.fixtures.ts"

describe("TLS", () => {
  const secretOf = (name: string, commonName: string) => {
    const { cert, key } = pairFor(commonName)
    return {
      metadata: { name, namespace: "default" },
      type: "kubernetes.io/tls",
      stringData: { "tls.crt": cert, "tls.key": key },
    }
  }
  /** The name in the certificate that a client gets which asks for `servername`. */
  const shown = (port: number, servername: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls({ host: "127.0.0.1", port, servername, rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject?.CN))
        socket.destroy()
      }).on("error", reject)
    })

  test("shows the certificate for the client's server name, and a changed certificate from the next connection on", async () => {
    // given
    await using given = await serving()
    await given.client.create(Secret, secretOf("one", "one.example"))
    await given.client.create(Secret, secretOf("wild", "*.wild.example"))
    const tls = [
      { hosts: ["one.example"], secretName: "one" },
      { hosts: ["*.wild.example"], secretName: "wild" },
      { hosts: ["late.example"], secretName: "late" },
    ]
    await given.client.create(Ingress, ingressOf("web", { tls, rules: [rule("one.example", "web")] }))
    await given.served("web")
    const port = given.ingress.ports[1]!

    // then
    const names = ["one.example", "ONE.example", "a.wild.example", "a.b.wild.example", "late.example", "other.example"]
    expect(await Promise.all(names.map((name) => shown(port, name)))).toEqual([
      "one.example",
      "one.example",
      "*.wild.example",
      "k3ts-ingress-default",
      "k3ts-ingress-default",
      "k3ts-ingress-default",
    ])

    // when Secrets change
    await given.client.create(Secret, secretOf("late", "late.example"))
    const renewed = secretOf("one", "renewed.example")
    await given.client.patch(
      Secret,
      { namespace: "default", name: "one" },
      { type: "merge", body: { stringData: renewed.stringData } },
    )
    await given.cluster.eventually(async () => (await shown(port, "one.example")) === "renewed.example")
    expect(await shown(port, "late.example")).toBe("late.example")
  })
})

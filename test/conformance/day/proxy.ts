import { Agent, createServer, request } from "node:https"
import type { AddressInfo } from "node:net"
import { createCa, issueCertificate } from "../../../pkg/pki/certificate.ts"

/** A proxy before an API server. Audit events name no content type, so it notes those of patches. */
export interface Proxy extends Disposable {
  readonly url: string
  /** The content types of patches, by the audit ID. */
  readonly contentTypes: ReadonlyMap<string, string>
}

const DAY_MS = 86_400_000

/** Starts the proxy before the server at a port of this machine. */
export async function startProxy(port: number): Promise<Proxy> {
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) }
  const pair = issueCertificate(createCa({ commonName: "proxy", validity }), {
    subject: { commonName: "proxy", organizations: [] },
    validity,
    ipAddresses: ["127.0.0.1"],
    usages: ["server"],
  })
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const contentTypes = new Map<string, string>()
  const server = createServer({ key: pair.keyPem, cert: pair.certPem }, (req, res) => {
    const { method, url: path, headers } = req
    const onward = request({ agent, host: "127.0.0.1", port, method, path, headers }, (answer) => {
      const auditId = answer.headers["audit-id"]
      if (method === "PATCH" && typeof auditId === "string") contentTypes.set(auditId, String(headers["content-type"]))
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      res.flushHeaders()
      answer.pipe(res)
      answer.on("error", () => res.destroy())
    })
    onward.on("error", () => res.destroy())
    res.on("close", () => onward.destroy())
    req.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    contentTypes,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
      agent.destroy()
    },
  }
}

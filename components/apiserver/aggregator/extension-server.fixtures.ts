import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import { APIService, availability, type APIServiceCondition } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { openClusterPki } from "../../../pkg/pki/cluster-pki.ts"
import { json, type startHttpServer } from "../serving/http-server.fixtures.ts"

export type HttpServer = Awaited<ReturnType<typeof startHttpServer>>
export type Answering = (req: IncomingMessage, res: ServerResponse) => void

export const GROUP = "wardle.example.com"
export const FLUNDERS = `/apis/${GROUP}/v1/namespaces/default/flunders`

/** The resources of the test server, as the discovery document of one version. */
export const RESOURCES = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: `${GROUP}/v1`,
  resources: [
    {
      name: "flunders",
      singularName: "flunder",
      namespaced: true,
      kind: "Flunder",
      verbs: ["create", "delete", "get", "list", "watch"],
      shortNames: ["fl"],
    },
    { name: "flunders/status", singularName: "", namespaced: true, kind: "Flunder", verbs: ["get", "update"] },
  ],
}

/** Starts an API server over TLS on loopback, for the Service `extension` in the namespace `default`. */
export async function startExtensionServer(frontProxyCa: string, answering: Answering) {
  const pki = openClusterPki({ now: realClock.now })
  const serving = pki.issue({
    name: "extension",
    authority: "server-ca",
    subject: { commonName: "extension", organizations: [] },
    dnsNames: ["extension.default.svc"],
  })
  const seen: IncomingMessage[] = []
  const server = createServer(
    { key: serving.keyPem, cert: serving.certPem, requestCert: true, rejectUnauthorized: true, ca: frontProxyCa },
    (req, res) => {
      seen.push(req)
      if (req.url === `/apis/${GROUP}/v1`) return void res.end(JSON.stringify(RESOURCES))
      if (req.url === "/apis") return void res.writeHead(404).end()
      answering(req, res)
    },
  )
  server.on("upgrade", (_req: IncomingMessage, socket: Duplex) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n")
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    caPem: pki.authorities["server-ca"].certPem,
    certPem: serving.certPem,
    /** Returns the requests other than discovery. */
    asked: () => seen.filter(({ url }) => url!.startsWith(FLUNDERS)),
    /** Closes idle keep-alive connections. */
    closeIdle: () => server.closeIdleConnections(),
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Creates the Service of an extension server, with an endpoint on loopback, and its APIService. */
export async function register(http: HttpServer, port: number, spec: object): Promise<void> {
  await http.call(
    "POST",
    "/api/v1/namespaces/default/services",
    json({ metadata: { name: "extension" }, spec: { type: "ExternalName", externalName: "localhost" } }),
  )
  await http.call(
    "POST",
    "/apis/apiregistration.k8s.io/v1/apiservices",
    json({
      metadata: { name: `v1.${GROUP}` },
      spec: {
        group: GROUP,
        version: "v1",
        groupPriorityMinimum: 2000,
        versionPriority: 10,
        service: { namespace: "default", name: "extension", port },
        ...spec,
      },
    }),
  )
}

/** Waits until the condition Available of the APIService has the reason. */
export async function untilAvailability({ server }: HttpServer, reason: string): Promise<APIServiceCondition> {
  const { promise, resolve } = Promise.withResolvers<APIServiceCondition>()
  const client = newClient(server.transportFor({ name: "test", groups: ["system:masters"] }))
  const watch = client.watch(
    APIService,
    { fieldSelector: `metadata.name=v1.${GROUP}` },
    {
      onEvent(event) {
        if (event.type === "ERROR" || event.type === "BOOKMARK") return
        const found = availability((event.object as APIService).status)
        if (found?.reason === reason) resolve(found)
      },
      onEnd: () => undefined,
    },
  )
  const found = await promise
  watch.close()
  return found
}

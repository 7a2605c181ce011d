import { createApiServer } from "../../../components/apiserver/apiserver.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { silent } from "../../../pkg/log/log.ts"
import { testServingFiles } from "../../../components/cluster/testing/serving-files.ts"
import { resourceOf, NAMESPACE, type Target } from "./cases.ts"
import type { Answer } from "./verdict.ts"

/** An API server in this process, without controllers, and with the namespace of the cases. */
export async function serverInProcess(signal: AbortSignal): Promise<Target> {
  const server = createApiServer(
    { clock: realClock, random: seededRandom(1), log: silent },
    {
      serviceCidrs: ["10.99.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      advertiseAddress: "127.0.0.1",
      nodes: new NodeConnectors(),
      files: testServingFiles(),
    },
  )
  await server.start(signal)
  const transport = server.transportFor({ name: "admin", groups: ["system:masters", "system:authenticated"] })
  const target: Target = {
    async send({ verb, resource, namespace, name, subresource, body, dryRun }) {
      try {
        const object = await transport.call({
          verb,
          resource,
          namespace,
          name,
          subresource,
          object: body as never,
          options: verb === "get" ? {} : verb === "delete" ? { dryRun, gracePeriodSeconds: 0 } : { dryRun },
        })
        return { code: verb === "create" ? 201 : 200, object: JSON.parse(JSON.stringify(object)) }
      } catch (error) {
        return refusal(ApiError.from(error))
      }
    },
  }
  await prepare(target)
  return target
}

const refusal = ({ code, reason, message, details }: ApiError): Answer & { readonly message: string } => ({
  code,
  // an answer of this reason has none
  reason: reason === "Unknown" ? "" : reason,
  message,
  causes: details?.causes ?? [],
})

/** Creates what the cases need. */
export async function prepare(target: Target): Promise<void> {
  const make = (kind: string, namespace: string | undefined, name: string) =>
    target.send({
      verb: "create",
      resource: resourceOf({ kind, name, body: {} }),
      namespace,
      body: { apiVersion: "v1", kind: kind.split(" ")[1], metadata: { name } },
      dryRun: false,
    })
  await make("v1 Namespace", undefined, NAMESPACE)
  await make("v1 ServiceAccount", NAMESPACE, "default")
}

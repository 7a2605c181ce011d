import { fields } from "../go/decode.ts"
import { pluginShape } from "../kustomization/shapes.ts"
import { readNode } from "../node/read-nodes.ts"
import { Resource } from "../resource/resource.ts"
import { ResourceMap } from "../resource/resource-map.ts"
import type { Schemas } from "../schema/schemas.ts"
import type { Generator } from "../transformers/transformer.ts"

export interface IamPolicyConfig {
  readonly cloud?: string
  readonly kubernetesService?: { readonly name?: string; readonly namespace?: string }
  readonly serviceAccount?: { readonly name?: string; readonly projectId?: string }
}

export const IAM_POLICY = pluginShape(
  fields({
    cloud: "string",
    kubernetesService: pluginShape(fields({ name: "string", namespace: "string" })),
    serviceAccount: pluginShape(fields({ name: "string", projectId: "string" })),
  }),
)

/** Returns a generator of a ServiceAccount that is bound to one of Google's cloud. Source: kustomize iampolicygenerator. */
export const iamPolicyGenerator = (config: IamPolicyConfig, schemas: Schemas): Generator => ({
  async generate() {
    const { cloud = "", kubernetesService = {}, serviceAccount = {} } = config
    if (cloud !== "gke") throw new Error(`cloud provider ${cloud} not supported yet`)
    const namespace = kubernetesService.namespace ?? ""
    const text = [
      "apiVersion: v1",
      "kind: ServiceAccount",
      "metadata:",
      "  annotations:",
      `    iam.gke.io/gcp-service-account: ${serviceAccount.name ?? ""}@${serviceAccount.projectId ?? ""}.iam.gserviceaccount.com`,
      `  name: ${kubernetesService.name ?? ""}`,
      ...(namespace === "" ? [] : [`  namespace: ${namespace}`]),
    ].join("\n")
    return ResourceMap.of([new Resource(readNode(text)!, schemas)])
  },
})

import { decodeObject } from "../../decoding/decode.ts"
import { e, f, message } from "../../fields.ts"
import { LabelSelector, ObjectMeta } from "../../meta.ts"
import { defineResource, type ObjectOfResource } from "../../resource.ts"
import { pathsOf, type FieldSet } from "./fieldset.ts"

export const Port = message("core.v1.ContainerPort", "", {
  name: f.string(1, ""),
  containerPort: f.int32(3, "").required(),
  protocol: f.string(4, "").default("TCP"),
})
export const EnvVar = message("core.v1.EnvVar", "", { name: f.string(1, "").required(), value: f.string(2, "") })
export const Container = message("core.v1.Container", "", {
  name: f.string(1, "").required(),
  image: f.string(2, ""),
  args: f.list(4, e.string, "").atomic(),
  env: f.list(7, EnvVar, "").listMap("name"),
  ports: f.list(6, Port, "").listMap("containerPort", "protocol"),
  limits: f.map(8, e.quantity, ""),
  pullPolicy: f.string(9, "").default("Always"),
})
export const PodSpec = message("core.v1.PodSpec", "", {
  containers: f.list(2, Container, "").listMap("name").required(),
  nodeSelector: f.map(7, e.string, "").atomic(),
  restartPolicy: f.string(3, "").default("Always"),
  groups: f.list(4, e.string, "").listSet(),
})
export const Template = message("core.v1.PodTemplateSpec", "", {
  metadata: f.message(1, ObjectMeta, "").always(),
  spec: f.message(2, PodSpec, "").always(),
})
export const Rolling = message("apps.v1.RollingUpdateDeployment", "", { maxSurge: f.intOrString(2, "") })
export const Spec = message("apps.v1.DeploymentSpec", "", {
  replicas: f.int32(1, "").default(1).pointer(),
  selector: f.message(2, LabelSelector, "").required(),
  template: f.message(3, Template, "").required(),
  strategy: f
    .message(
      4,
      message("apps.v1.DeploymentStrategy", "", { type: f.string(1, ""), rollingUpdate: f.message(2, Rolling, "") }),
      "",
    )
    .always(),
  paused: f.bool(7, ""),
})
export const Deployment = defineResource(
  {
    group: "apps",
    version: "v1",
    kind: "Deployment",
    plural: "deployments",
    scope: "Namespaced",
    doc: "",
    subresources: { status: true },
  },
  {
    spec: f.message(2, Spec, "").always(),
    status: f.message(3, message("apps.v1.DeploymentStatus", "", { ready: f.int32(1, "") }), "").always(),
  },
)
export type Deployment = ObjectOfResource<typeof Deployment>
export const NOW = "2026-01-01T00:00:00Z"
export const LATER = "2026-01-02T00:00:00Z"
export const config = (spec: object, metadata: object = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default", ...metadata },
  spec,
})
export const template = (...containers: object[]) => ({ template: { spec: { containers } } })
export const decode = (spec: object, metadata: object = {}): Deployment =>
  decodeObject(Deployment, config(spec, metadata)).object
export const ownedBy = (object: Deployment, manager: string, operation = "Apply"): string[] | undefined => {
  const entry = object.metadata.managedFields?.find(
    (found) => found.manager === manager && found.operation === operation,
  )
  return entry === undefined ? undefined : pathsOf(entry.fieldsV1 as FieldSet).sort()
}

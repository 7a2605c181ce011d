/** The fields in which vars are replaced. Source: kustomize builtinpluginconsts/varreference.go. */
import type { FieldSpec } from "./field-spec.ts"
import { POD_SPECS, type PodKind } from "./pod-paths.ts"

const field = (path: string, kind = ""): FieldSpec => ({ group: "", version: "", kind, path, create: false })

const PATHS = ["containers", "initContainers"].flatMap((containers) =>
  ["args", "command", "env/value", "volumeMounts/mountPath"].map((name) => `${containers}/${name}`),
)
const SERVER = "volumes/nfs/server"

/** Where the server of a volume is, which kustomize looks for in odd places of two kinds. */
const SERVERS: Readonly<Partial<Record<PodKind, string>>> = {
  CronJob: `spec/jobTemplate/spec/template/${SERVER}`,
  DaemonSet: `spec/template/spec/${SERVER}`,
  Deployment: `spec/template/spec/${SERVER}`,
  Job: `spec/template/spec/${SERVER}`,
  Pod: `spec/${SERVER}`,
  ReplicaSet: `spec/template/spec/${SERVER}`,
  StatefulSet: "spec/volumeClaimTemplates/spec/nfs/server",
}

export const VAR_REFERENCES: readonly FieldSpec[] = [
  ...(Object.entries(SERVERS) as [PodKind, string][]).flatMap(([kind, server]) => [
    ...PATHS.map((path) => field(`${POD_SPECS[kind]}/${path}`, kind)),
    field(server, kind),
  ]),
  field("spec/template/metadata/annotations", "Deployment"),
  ...["spec/rules/host", "spec/tls/hosts", "spec/tls/secretName"].map((path) => field(path, "Ingress")),
  ...["spec/ports/port", "spec/ports/targetPort"].map((path) => field(path, "Service")),
  field("spec/nfs/server", "PersistentVolume"),
  field("metadata/labels"),
  field("metadata/annotations"),
]

import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"

export const ResourceClaim = message("core.v1.ResourceClaim", "Lets a container use a claim of the pod.", {
  name: f.string(1, "Name of an entry in the pod's resourceClaims.").required().ownRule(),
  request: f.string(2, "One request of the claim; all of them unless given."),
})
export interface ResourceClaim extends ObjectOf<typeof ResourceClaim> {}

export const ResourceRequirements = message(
  "core.v1.ResourceRequirements",
  "The resources that a container requests, and their limits.",
  {
    limits: f.map(1, e.quantity, "Upper bounds by resource."),
    requests: f.map(2, e.quantity, "What the scheduler sets aside by resource; the limits unless given."),
    claims: f.list(3, ResourceClaim, "Claims of the pod that the container uses.").listMap("name"),
  },
)
export interface ResourceRequirements extends ObjectOf<typeof ResourceRequirements> {}

export const VolumeResourceRequirements = message(
  "core.v1.VolumeResourceRequirements",
  "The storage that a volume requests, and its limit.",
  {
    limits: f.map(1, e.quantity, "Upper bounds by resource."),
    requests: f.map(2, e.quantity, "Lower bounds by resource."),
  },
)
export interface VolumeResourceRequirements extends ObjectOf<typeof VolumeResourceRequirements> {}

export const ContainerResizePolicy = message("core.v1.ContainerResizePolicy", "How a running container is resized.", {
  resourceName: f.string(1, "Resource that the rule is about.").required().enum("cpu", "memory").ownRule(),
  restartPolicy: f
    .string(2, "NotRequired unless the container must be restarted.")
    .required()
    .enum("NotRequired", "RestartContainer")
    .ownRule(),
})
export interface ContainerResizePolicy extends ObjectOf<typeof ContainerResizePolicy> {}

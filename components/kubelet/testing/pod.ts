import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import type { PodSpec } from "../../../pkg/api/core/v1/pod/podspec.ts"
import type { InputOfResource } from "../../../pkg/apimachinery/resource.ts"
import type { RuntimeContainer, RuntimePod, RuntimeSandbox } from "../model/runtime-pod.ts"
import { containerHash } from "../model/labels.ts"

type Input = InputOfResource<typeof Pod>

/** A pod with all defaults, default/web with uid u1 unless its metadata say otherwise. */
export const podOf = (spec: Partial<NonNullable<Input["spec"]>>, rest: Omit<Input, "spec"> = {}): Pod =>
  decodeObject(Pod, {
    ...rest,
    metadata: { name: "web", namespace: "default", uid: "u1", ...rest.metadata },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  }).object

const identity = { uid: "u1", namespace: "default", name: "web" }

export const sandboxOf = (more: Partial<RuntimeSandbox> = {}): RuntimeSandbox => ({
  id: "s0",
  pod: identity,
  attempt: 0,
  ready: true,
  createdAt: 0,
  ips: ["10.42.0.2"],
  hostNetwork: false,
  ...more,
})

/** A run of a container of `pod`; running unless it is said how it ended. */
export function runOf(
  pod: { readonly spec: PodSpec },
  name: string,
  more: Partial<RuntimeContainer> = {},
): RuntimeContainer {
  const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((of) => of.name === name)!
  return {
    id: `${name}0`,
    pod: identity,
    name,
    sandboxId: "s0",
    state: more.exitCode === undefined ? "running" : "exited",
    createdAt: 0,
    startedAt: 1000,
    finishedAt: 0,
    exitCode: 0,
    reason: "",
    message: "",
    image: container.image ?? "",
    imageRef: "sha256:1",
    notes: {
      hash: containerHash(container),
      restartCount: 0,
      messagePath: "",
      messagePolicy: "File",
      graceSeconds: 30,
    },
    logPath: "/log",
    user: undefined,
    resources: undefined,
    ...more,
  }
}

export const runtimeOf = (
  containers: readonly RuntimeContainer[],
  sandboxes: readonly RuntimeSandbox[] = [sandboxOf()],
): RuntimePod => ({ identity, sandboxes, containers })

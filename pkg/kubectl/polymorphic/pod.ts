import type { Unstructured } from "../rest/json.ts"

/** A pod, as far as commands look at it. */
export interface Pod extends Unstructured {
  spec?: PodSpec
  status?: PodStatus
}

export interface PodSpec {
  nodeName?: string
  containers: Container[]
  initContainers?: Container[]
  ephemeralContainers?: Container[]
  [field: string]: unknown
}

export interface Container {
  name: string
  image?: string
  stdin?: boolean
  tty?: boolean
  ports?: { name?: string; containerPort: number; protocol?: string }[]
  [field: string]: unknown
}

export interface PodStatus {
  phase?: string
  conditions?: { type: string; status: string; lastTransitionTime?: string }[]
  containerStatuses?: ContainerStatus[]
  initContainerStatuses?: ContainerStatus[]
  ephemeralContainerStatuses?: ContainerStatus[]
  [field: string]: unknown
}

export interface ContainerStatus {
  name: string
  restartCount?: number
  state?: {
    waiting?: { reason?: string; message?: string }
    running?: object
    terminated?: { exitCode: number; reason?: string; message?: string }
  }
}

import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { kubeletFolders } from "../../kubelet/model/config.ts"

/** Where drivers, agents and monitoring look for the files of a node's kubelet. */
export const USUAL_KUBELET_ROOT = "/var/lib/kubelet"

/** The file in a root outside of the data directory that names that directory. */
const OWNER = ".k3ts"

/** Entries that only a kubelet of another program makes. Source: k8s.io/kubernetes pkg/kubelet; kubeadm's files. */
const OTHERS = ["cpu_manager_state", "memory_manager_state", "checkpoints", "pki", "config.yaml", "kubeadm-flags.env"]

/** What our kubelet makes in its root. Programs of pods may have made more, which stays. */
const MADE = [
  ...["pods", "memory", "reserve", "image_manager", "plugins/kubernetes.io", "plugins_registry"],
  ...["dra_manager_state", "device_manager_state", OWNER],
]
/** Folders that are removed when they are empty. */
const SHARED = ["plugins"]

/** The file in the data directory that names the root, where that is elsewhere. */
const record = (dataDir: string): string => join(dataDir, "agent/kubelet-root")

/** A root, and why it is not the one that was wanted. */
export interface KubeletRoot {
  readonly root: string
  readonly kept?: string
}

/**
 * Returns the folder for the kubelet's files, and takes it for this data directory: the one that is wanted, unless pods
 * run on another, or another kubelet has it. Called before the kubelet starts.
 */
export function takeKubeletRoot(dataDir: string, wanted: string | undefined): KubeletRoot {
  const { root: own } = kubeletFolders(dataDir)
  const before = recorded(dataDir) ?? own
  const root = wanted ?? own
  if (root !== before && entriesOf(join(before, "pods")).length > 0)
    return { root: before, kept: `pods have their volumes in ${before}` }
  if (root === own) {
    rmSync(record(dataDir), { force: true })
    return { root }
  }
  const owner = ownerOf(root)
  if (owner !== undefined && owner !== dataDir) return { root: own, kept: `${root} is in use by ${owner}` }
  mkdirSync(root, { recursive: true, mode: 0o755 })
  if (owner === undefined) writeFileSync(join(root, OWNER), `${dataDir}\n`, { flag: "wx", mode: 0o600 })
  mkdirSync(join(dataDir, "agent"), { recursive: true })
  writeFileSync(record(dataDir), `${root}\n`)
  return { root }
}

/** Returns the folders in which the kubelet of a data directory has files: that in the directory, and the taken one. */
export function kubeletRoots(dataDir: string): readonly string[] {
  const { root: own } = kubeletFolders(dataDir)
  const taken = recorded(dataDir)
  return taken === undefined ? [own] : [own, taken]
}

/** Returns what our kubelet has made outside of the data directory: files, folders and, at the end, what others share. */
export function madeInKubeletRoot(dataDir: string): {
  readonly own: readonly string[]
  readonly shared: readonly string[]
} {
  const root = recorded(dataDir)
  if (root === undefined) return { own: [], shared: [] }
  return {
    own: MADE.map((name) => join(root, name)).filter((path) => existsSync(path)),
    shared: [...SHARED.map((name) => join(root, name)), root],
  }
}

/** Returns the root outside of the data directory that was taken, if it is still ours. */
function recorded(dataDir: string): string | undefined {
  const root = textOf(record(dataDir))
  return root !== undefined && ownerOf(root) === dataDir ? root : undefined
}

/** Returns whose root a folder is: a data directory, or `another kubelet`; undefined when it is nobody's. */
function ownerOf(root: string): string | undefined {
  const dataDir = textOf(join(root, OWNER))
  // Nobody is left to remove the file where a data directory was removed by hand.
  if (dataDir !== undefined && existsSync(dataDir)) return dataDir
  const entries = entriesOf(root)
  if (OTHERS.some((name) => entries.includes(name))) return "another kubelet"
  if (dataDir !== undefined) rmSync(join(root, OWNER), { force: true })
  return undefined
}

function textOf(path: string): string | undefined {
  try {
    return lstatSync(path).isFile() ? readFileSync(path, "utf8").trim() : undefined
  } catch {
    return undefined
  }
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

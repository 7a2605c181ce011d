import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  atKey,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notSupported,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { inRange, isDNS1123Label } from "../../../../apimachinery/validation/names.ts"
import type { ISCSIPersistentVolumeSource } from "../persistentvolume/persistentvolumesource.ts"
import { withoutBacksteps } from "../path-validation.ts"
import type {
  AWSElasticBlockStoreVolumeSource,
  AzureDiskVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  GCEPersistentDiskVolumeSource,
  ISCSIVolumeSource,
  QuobyteVolumeSource,
} from "./volume-cloud.ts"
import type { HostPathVolumeSource, NFSVolumeSource } from "./volume.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Validates the volume sources that pods and PersistentVolumes share. Most required fields are declared as such.
 * Source: the validate…VolumeSource functions in pkg/apis/core/validation/validation.go.
 */
interface SharedSources {
  readonly hostPath?: HostPathVolumeSource | undefined
  readonly gcePersistentDisk?: GCEPersistentDiskVolumeSource | undefined
  readonly awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource | undefined
  readonly flocker?: FlockerVolumeSource | undefined
  readonly nfs?: NFSVolumeSource | undefined
  readonly quobyte?: QuobyteVolumeSource | undefined
  readonly fc?: FCVolumeSource | undefined
  readonly flexVolume?: Pick<FlexVolumeSource, "driver" | "options"> | undefined
  readonly azureDisk?: AzureDiskVolumeSource | undefined
  readonly storageos?: StorageOS | undefined
}
interface StorageOS {
  readonly volumeName?: string | undefined
  readonly volumeNamespace?: string | undefined
}

/**
 * Returns the faults of the source with that name; none for sources without rules here. Fields are named as upstream
 * names them below the volume.
 */
export function sharedSourceFaults(source: string, volume: SharedSources): readonly Cause[] {
  const causes: Cause[] = []
  switch (source) {
    case "hostPath": {
      const { path = "", type } = volume.hostPath!
      if (path === "") return causes
      within(causes, withoutBacksteps("path", path), source)
      if (!HOST_PATH_TYPES.includes(type)) causes.push(notSupported("hostPath.type", type, HOST_PATH_TYPES))
      return causes
    }
    case "gcePersistentDisk":
      // Upstream's name of the field lacks the name of the cloud.
      within(causes, validateGCEDisk(volume.gcePersistentDisk!), "persistentDisk")
      return causes
    case "awsElasticBlockStore":
      within(causes, validatePartition(volume.awsElasticBlockStore!.partition), source)
      return causes
    case "flocker":
      within(causes, validateFlocker(volume.flocker!), source)
      return causes
    case "nfs": {
      const { path } = volume.nfs!
      if (path === "") causes.push(required("nfs.path"))
      if (!path.startsWith("/")) causes.push(invalidValue("nfs.path", path, "must be an absolute path"))
      return causes
    }
    case "quobyte":
      within(causes, validateQuobyte(volume.quobyte!), source)
      return causes
    case "fc":
      within(causes, validateFC(volume.fc!), source)
      return causes
    case "flexVolume":
      if (volume.flexVolume!.driver === "") causes.push(required("flexVolume.driver"))
      within(causes, validateFlexOptions(volume.flexVolume!.options), "flexVolume.options")
      return causes
    case "azureDisk":
      within(causes, validateAzureDisk(volume.azureDisk!), source)
      return causes
    case "storageos":
      within(causes, validateStorageOS(volume.storageos!), source)
      return causes
    default:
      return NO_CAUSES
  }
}

const HOST_PATH_TYPES: readonly string[] = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
]

function validateGCEDisk({ pdName, partition }: GCEPersistentDiskVolumeSource): readonly Cause[] {
  return [...(pdName === "" ? [required("pdName")] : []), ...validatePartition(partition)]
}

const validatePartition = (partition = 0): readonly Cause[] =>
  partition < 0 || partition > 255
    ? [invalidValue("partition", partition, "must be between 1 and 255, inclusive")]
    : NO_CAUSES

function validateFlocker({ datasetName = "", datasetUUID = "" }: FlockerVolumeSource): readonly Cause[] {
  const causes: Cause[] = []
  if (datasetName === "" && datasetUUID === "")
    causes.push(required("", "one of datasetName and datasetUUID is required"))
  if (datasetName !== "" && datasetUUID !== "")
    causes.push(invalidValue("", "resource", "datasetName and datasetUUID can not be specified simultaneously"))
  if (datasetName.includes("/")) causes.push(invalidValue("datasetName", datasetName, "must not contain '/'"))
  return causes
}

const REGISTRIES = "must be a host:port pair or multiple pairs separated by commas"
/**
 * A host and a port: a host without colons or anything in brackets, a colon, and text without colons. Source: Go's
 * net.SplitHostPort.
 */
const HOST_PORT = /^(\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/

function validateQuobyte({ registry, tenant = "" }: QuobyteVolumeSource): readonly Cause[] {
  if (registry === "") return [required("registry", REGISTRIES)]
  if (tenant.length > 64) return [required("tenant", "must be a UUID and may not exceed a length of 64 characters")]
  return registry
    .split(",")
    .flatMap((pair) => (HOST_PORT.test(pair) ? [] : [invalidValue("registry", registry, REGISTRIES)]))
}

const LARGEST_LUN = 255

function validateFC({ targetWWNs = [], wwids = [], lun }: FCVolumeSource): readonly Cause[] {
  const causes: Cause[] = []
  if (targetWWNs.length === 0 && wwids.length === 0)
    causes.push(required("targetWWNs", "must specify either targetWWNs or wwids, but not both"))
  if (targetWWNs.length > 0 && wwids.length > 0)
    causes.push(invalidValue("targetWWNs", targetWWNs, "targetWWNs and wwids can not be specified simultaneously"))
  if (targetWWNs.length === 0) return causes
  if (lun === undefined) causes.push(required("lun", "lun is required if targetWWNs is specified"))
  else pushAll(causes, invalidValues("lun", lun, inRange(lun, 0, LARGEST_LUN)))
  return causes
}

/** Users cannot set options with names of Kubernetes. */
function validateFlexOptions(options: FlexVolumeSource["options"] = {}): readonly Cause[] {
  return Object.keys(options).flatMap((key) => {
    const domain = `.${key.split("/", 1)[0]!.toLowerCase()}`
    return domain.endsWith(".kubernetes.io") || domain.endsWith(".k8s.io")
      ? [invalidValue(atKey("", key), key, "kubernetes.io and k8s.io namespaces are reserved")]
      : []
  })
}

const MANAGED_URI = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
const BLOB_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"

function validateAzureDisk({ kind, diskURI }: AzureDiskVolumeSource): readonly Cause[] {
  const [start, form] = kind === "Managed" ? ["/subscriptions/", MANAGED_URI] : ["https://", BLOB_URI]
  return [
    ...(diskURI === "" ? [required("diskURI")] : NO_CAUSES),
    ...(diskURI.startsWith(start) ? NO_CAUSES : [notSupported("diskURI", diskURI, [form])]),
  ]
}

function validateStorageOS({ volumeName = "", volumeNamespace = "" }: StorageOS): readonly Cause[] {
  return [
    ...(volumeName === ""
      ? [required("volumeName")]
      : invalidValues("volumeName", volumeName, isDNS1123Label(volumeName))),
    ...(volumeNamespace === ""
      ? []
      : invalidValues("volumeNamespace", volumeNamespace, isDNS1123Label(volumeNamespace))),
  ]
}

/** An iSCSI name has one of three forms (RFC 3720, section 3.2.6.3). */
const ISCSI_NAMES: Readonly<Record<string, RegExp>> = {
  iqn: /iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$/,
  eui: /^eui.[A-Za-z0-9]{16}$/,
  naa: /^naa.[A-Za-z0-9]{32}$/,
}

/** `otherForm` is the message for a name of no known form: upstream has two. */
export function validateISCSI(
  iscsi: ISCSIVolumeSource | ISCSIPersistentVolumeSource,
  otherForm: string,
): readonly Cause[] {
  const { iqn, lun, chapAuthDiscovery, chapAuthSession, secretRef, initiatorName } = iscsi
  const causes: Cause[] = iqn === "" ? [] : [...validateISCSIName("iqn", iqn, otherForm)]
  pushAll(causes, invalidValues("lun", lun, inRange(lun, 0, LARGEST_LUN)))
  if ((chapAuthDiscovery === true || chapAuthSession === true) && secretRef === undefined)
    causes.push(required("secretRef"))
  if (initiatorName !== undefined) pushAll(causes, validateISCSIName("initiatorname", initiatorName, otherForm))
  return causes
}

function validateISCSIName(field: string, name: string, otherForm: string): readonly Cause[] {
  const form = ISCSI_NAMES[name.slice(0, 3)]
  if (form === undefined) return [invalidValue(field, name, otherForm)]
  return form.test(name) ? NO_CAUSES : [invalidValue(field, name, "must be valid format")]
}

/** The longest name of an iSCSI interface, which consists of the volume's name and its portal. */
const LONGEST_INTERFACE = 64
export const isTooLongForISCSI = (
  volumeName: string,
  { initiatorName, targetPortal }: ISCSIVolumeSource | ISCSIPersistentVolumeSource,
): boolean => initiatorName !== undefined && Buffer.byteLength(`${volumeName}:${targetPortal}`) > LONGEST_INTERFACE
export const TOO_LONG_FOR_ISCSI =
  "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."

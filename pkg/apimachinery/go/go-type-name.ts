import type { Type, Message } from "../field-spec.ts"

/** The Go type of a message: `v1.PodSpec`. */
export const goTypeOf = (message: Message): string => message.name.split(".").slice(-2).join(".")

/** The Go type of a field, as error messages show it: `[]v1.Container`. */
export function goNameOf(type: Type): string {
  switch (type.kind) {
    case "message":
      return goTypeOf(type.message())
    case "list":
      return `[]${goNameOf(type.of)}`
    case "map":
      return `map[string]${goNameOf(type.of)}`
    case "double":
      return "float64"
    case "bytes":
      return "[]uint8"
    case "quantity":
      return "resource.Quantity"
    case "intOrString":
      return "intstr.IntOrString"
    case "time":
      return "v1.Time"
    case "microTime":
      return "v1.MicroTime"
    case "duration":
      return "v1.Duration"
    case "json":
    case "rawExtension":
      return "runtime.RawExtension"
    case "fieldsV1":
      return "v1.FieldsV1"
    default:
      return type.kind
  }
}

/** What Go's decoder says of JSON that can have no apiVersion and kind. Source: apimachinery pkg/runtime/serializer/json/meta.go. */
export const noTypeMeta = (value: unknown): string =>
  `json: cannot unmarshal ${Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value} into Go value of type ${TYPE_META}`

const TYPE_META = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`

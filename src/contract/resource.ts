import { z } from 'zod';
import {
  decimal as decimalShape,
  number as numberShape,
  text as textShape,
  texts as textsShape,
} from './common-schemas.ts';

/**
 * The table of a resource has one line for each field of its records:
 *
 *     swiftBic: text('swift_bic', "The bank's BIC."),
 *
 * says what GraphQL calls the field, what kind of value it is, what REST calls it, and what it means. All else is derived
 * from that line: the shapes of answers and bodies (here), the fields of the GraphQL type, of its input and of its
 * changes, and the mapping between them and REST (schema/fields.ts).
 */
export interface Resource<T extends Fields = Fields> {
  /** The name of the GraphQL type. */
  readonly name: string;
  readonly description: string;
  readonly fields: T;
  /** The shape of the record in the bank's answers. */
  readonly answer: z.ZodObject<AnswerShape<T>>;
  /** The shape of the record in the bodies of requests, which have no other members. */
  readonly body: z.ZodObject<BodyShape<T>, z.core.$strict>;
  readonly options: ResourceOptions;
}

interface ResourceOptions {
  /** The GraphQL input type, if its name is not that of the type with "Input", or it has a description of its own. */
  readonly input?: { readonly name?: string; readonly description?: string };
  /** The GraphQL type of changes. Without it, a change replaces the value whole. */
  readonly changes?: { readonly name: string; readonly description: string };
  /** Shapes have the table's order. By default it is the specification's: that of the names. */
  readonly keepsOrder?: true;
}

/** A resource about which nothing is known but the members that all resources have. */
export interface AnyResource extends Pick<Resource, 'name' | 'description' | 'fields' | 'options'> {
  readonly answer: z.ZodObject;
  readonly body: z.ZodObject;
}

export type Fields = Readonly<Record<string, Field>>;

/** A line of the table. */
export interface Field<
  Rest extends string = string,
  Answer extends z.ZodType = z.ZodType,
  Body extends z.ZodType | null = z.ZodType | null,
  Input = unknown,
  Change = unknown,
> {
  /** The name of the member in the bank's JSON. */
  readonly rest: Rest;
  /** What the field means: the beginning of its description. */
  readonly what: string;
  readonly answer: Answer;
  /** Null if bodies do not have the member. */
  readonly body: Body;
  readonly type: FieldType;
  readonly options: FieldOptions;
  /** The types of the value in the GraphQL input and in changes, only for the compiler. */
  readonly [inputType]?: Input;
  readonly [changeType]?: Change;
}

declare const inputType: unique symbol;
declare const changeType: unique symbol;

/** The type of a field in GraphQL. */
interface FieldType {
  readonly of: 'Boolean' | 'Decimal' | 'Float' | 'ID' | 'String' | AnyResource;
  readonly isList?: true;
  /** Bodies have the only entry of the list; answers have the entry or the list. */
  readonly isOnlyEntry?: true;
}

interface FieldOptions<Shape extends z.ZodType = z.ZodType> {
  /**
   * Where the field is required: in answers, in bodies (and inputs), or in both; with `default` bodies have it and
   * inputs need not.
   */
  readonly required?: 'answers' | 'bodies' | 'both' | 'default';
  /** Only answers have it. */
  readonly isReadOnly?: true;
  /** It identifies the record, which the path of the request does too: GraphQL shows that id, and changes have none. */
  readonly isOwnId?: true;
  /** Ids of other records, in whose place inputs refuse global ids. */
  readonly holdsIds?: true;
  /** The shape in answers, if banks are known to write the value otherwise: see interpretations.ts. */
  readonly answer?: Shape;
  /** What descriptions add behind the name in REST. */
  readonly notes?: { readonly answer?: string; readonly input?: string; readonly changes?: string };
  /** Another field of the GraphQL type, with the text in a more precise form: of dates, also the operation that reads it; of
   * words, the name of an enum, and the values that are known of them.
   */
  readonly also?:
    | { readonly name: string; readonly list: 'String' | 'ID' }
    | { readonly name: string; readonly dateOf: string }
    | { readonly name: string; readonly enum: string; readonly values: readonly string[] };
  /** The name in inputs of earlier versions: deprecated, and kept until 1.0. */
  readonly formerly?: { readonly name: string; readonly note?: string };
}

type IfRequired<O, By extends string, Then, Else> = O extends { readonly required: By } ? Then : Else;
type IfReadOnly<O, Then, Else> = O extends { readonly isReadOnly: true } ? Then : Else;
type IfOwnId<O, Then, Else> = O extends { readonly isOwnId: true } ? Then : Else;

/** A field by the shapes of its value, if present, and the types of its value in inputs and changes. */
type FieldOf<Rest extends string, Answer extends z.ZodType, Body extends z.ZodType, Input, Change, O> = Field<
  Rest,
  IfRequired<O, 'answers' | 'both', Answer, z.ZodOptional<z.ZodNullable<Answer>>>,
  IfReadOnly<O, null, IfRequired<O, 'bodies' | 'both' | 'default', Body, z.ZodOptional<Body>>>,
  IfReadOnly<O, never, IfRequired<O, 'bodies' | 'both', Input, Input | null | undefined>>,
  IfReadOnly<O, never, IfOwnId<O, never, Change | null | undefined>>
>;

type AnswerShape<T extends Fields> = { [K in keyof T as T[K]['rest']]: T[K]['answer'] };
type BodyShape<T extends Fields> = {
  [K in keyof T as T[K]['body'] extends z.ZodType ? T[K]['rest'] : never]: NonNullable<T[K]['body']>;
};

type InputOf<F> = F extends Field<string, z.ZodType, z.ZodType | null, infer Input, unknown> ? Input : never;
type ChangeOf<F> =
  F extends Field<string, z.ZodType, z.ZodType | null, unknown, infer Change> ? Change : never;
type Simplified<T> = { [K in keyof T]: T[K] };
/** Whether a value is optional; never stays never. */
type IfUndefined<Value, Then, Else> = [Value] extends [never] ? never : undefined extends Value ? Then : Else;

/** A record in the bank's answers. */
export type Answer<R extends { readonly answer: z.ZodType }> = z.infer<R['answer']>;
/** A record in the body of a request. */
export type Body<R extends { readonly body: z.ZodType }> = z.infer<R['body']>;
/** The GraphQL input of a whole record. */
export type Input<T extends Fields> = Simplified<
  { -readonly [K in keyof T as IfUndefined<InputOf<T[K]>, never, K>]: InputOf<T[K]> } & {
    -readonly [K in keyof T as IfUndefined<InputOf<T[K]>, K, never>]?: InputOf<T[K]>;
  }
>;
/** The GraphQL input that changes a record. */
export type ChangesInput<T extends Fields> = {
  -readonly [K in keyof T as [ChangeOf<T[K]>] extends [never] ? never : K]?: ChangeOf<T[K]>;
};

export function resource<T extends Fields>(
  name: string,
  description: string,
  fields: T,
  options: ResourceOptions = {},
): Resource<T> {
  const inOrder = options.keepsOrder ? Object.values(fields) : Object.values(fields).sort(bySpecification);
  const made: AnyResource = {
    name,
    description,
    fields,
    answer: z.object(Object.fromEntries(inOrder.map(({ rest, answer }) => [rest, answer]))),
    body: z.strictObject(
      Object.fromEntries(inOrder.flatMap(({ rest, body }) => (body === null ? [] : [[rest, body]]))),
    ),
    options,
  };
  // The types of the shapes' members are beyond the inference of Object.fromEntries.
  return made as Resource<T>;
}

/** Members that bodies do not have come last. The order is part of a record's version (schema/record-mutations.ts). */
const bySpecification = (a: Field, b: Field) =>
  Number(a.body === null) - Number(b.body === null) || (a.rest.toLowerCase() < b.rest.toLowerCase() ? -1 : 1);

/** Creates the function for fields whose values have these types in inputs and in changes. */
const field =
  <I, C = I>() =>
  <Rest extends string, A extends z.ZodType, B extends z.ZodType, O extends FieldOptions>(
    rest: Rest,
    what: string,
    type: FieldType,
    /** The shapes of the value if it is present. */
    answer: A,
    body: B,
    options: O | undefined,
  ) => {
    const { required, isReadOnly } = options ?? {};
    const isIn = (...places: readonly unknown[]) => places.includes(required);
    const shape = options?.answer ?? answer;
    const made: Field = {
      rest,
      what,
      type,
      answer: isIn('answers', 'both') ? shape : shape.nullish(),
      body: isReadOnly ? null : isIn('bodies', 'both', 'default') ? body : body.optional(),
      options: options ?? {},
    };
    // The conditions above are those of FieldOf.
    return made as FieldOf<Rest, A, B, I, C, O>;
  };

/** Creates the function for fields of a scalar type. */
const scalar =
  <S extends z.ZodType>(type: FieldType, body: S, answer: S = body) =>
  <const Rest extends string, const O extends FieldOptions<S> = Record<never, never>>(
    rest: Rest,
    what: string,
    options?: O,
  ) =>
    field<z.infer<S>>()(rest, what, type, answer, body, options);

export const text = scalar({ of: 'String' }, z.string(), textShape);
export const id = scalar({ of: 'ID' }, z.string(), textShape);
export const texts = scalar({ of: 'String', isList: true }, z.array(z.string()), textsShape);
export const boolean = scalar({ of: 'Boolean' }, z.boolean());
export const number = scalar({ of: 'Float' }, z.number(), numberShape);
/** An exact number, whose digits are kept as text: an amount of money. */
export const decimal = scalar({ of: 'Decimal' }, decimalShape);

const onlyEntry = { of: 'String', isList: true, isOnlyEntry: true } as const;

/** One text in bodies, which GraphQL shows as a list; `answer` is its shape in answers. */
export const onlyText = <
  const Rest extends string,
  A extends z.ZodType,
  const O extends FieldOptions = Record<never, never>,
>(
  rest: Rest,
  what: string,
  answer: A,
  options?: O,
) => field<string[]>()(rest, what, onlyEntry, answer, z.string(), options);

/** An object, which has a table of its own. */
export const part = <
  const Rest extends string,
  T extends Fields,
  const O extends FieldOptions = Record<never, never>,
>(
  rest: Rest,
  what: string,
  of: Resource<T>,
  options?: O,
) => field<Input<T>, ChangesInput<T>>()(rest, what, { of }, of.answer, of.body, options);

/** A list of objects. */
export const parts = <
  const Rest extends string,
  T extends Fields,
  const O extends FieldOptions = Record<never, never>,
>(
  rest: Rest,
  what: string,
  of: Resource<T>,
  options?: O,
) => field<Input<T>[]>()(rest, what, { of, isList: true }, z.array(of.answer), z.array(of.body), options);

/** Whether a value of a record says nothing: it is absent or null, or an empty text or list. */
export const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

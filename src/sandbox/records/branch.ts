import type { Branch } from '../../contract/branch.ts';
import { rowsOf, table } from '../database.ts';
import type { Handlers } from '../handlers.ts';
import { bankId } from '../identity.ts';
import { matches } from '../list-query.ts';
import { checkOfPath, requireStaff } from '../request-checks.ts';

/** The columns: id, name, city, country, street, postcode, latitude and longitude. */
const branchTable = `
  nicosia-main | Λευκωσία Κεντρικό | Λευκωσία | CY | Λεωφόρος Μακαρίου Γ΄ 12 | 1065 | 35.1676 | 33.3626
  nicosia-old-town | Παλιά Πόλη | Λευκωσία | CY | Οδός Λήδρας 88 | 1011 | 35.1735 | 33.3617
  limassol-marina | Λεμεσός Μαρίνα | Λεμεσός | CY | Παραλιακή 3 | 3601 | 34.6695 | 33.0413
  larnaca-harbour | Λάρνακα Λιμάνι | Λάρνακα | CY | Λεωφόρος Αθηνών 41 | 6023 | 34.9127 | 33.6376
  paphos-castle | Πάφος Κάστρο | Πάφος | CY | Αποστόλου Παύλου 7 | 8046 | 34.7538 | 32.4069
  athens-syntagma | Αθήνα Σύνταγμα | Αθήνα | GR | Ερμού 2 | 10563 | 37.9755 | 23.7348
  thessaloniki-port | Θεσσαλονίκη Λιμάνι | Θεσσαλονίκη | GR | Νίκης 19 | 54624 | 40.6325 | 22.9407
  sofia-vitosha | София Витоша | София | BG | бул. Витоша 50 | 1000 | 42.6914 | 23.3194
  kyiv-podil | Київ Поділ | Київ | UA | вул. Сагайдачного 14 | 04070 | 50.4593 | 30.5241
  belgrade-sava | Београд Сава | Београд | RS | Карађорђева 5 | 11000 | 44.8151 | 20.4546
  tbilisi-rustaveli | თბილისი რუსთაველი | თბილისი | GE | რუსთაველის გამზირი 21 | 0108 | 41.7009 | 44.7949
  yerevan-cascade | Երևան Կասկադ | Երևան | AM | Թամանյան 10 | 0009 | 40.1892 | 44.5152
  cairo-nile | القاهرة النيل | القاهرة | EG | كورنيش النيل ١١ | 11511 | 30.0459 | 31.2243
  beirut-hamra | بيروت الحمراء | بيروت | LB | شارع الحمراء ٣٠ | 1103 | 33.8959 | 35.4785
  haifa-carmel | חיפה כרמל | חיפה | IL | שדרות הנשיא 101 | 3463 | 32.8041 | 34.9876
  delhi-connaught | दिल्ली कनॉट प्लेस | दिल्ली | IN | कनॉट प्लेस 5 | 110001 | 28.6315 | 77.2167
  bangkok-silom | กรุงเทพ สีลม | กรุงเทพมหานคร | TH | ถนนสีลม 120 | 10500 | 13.7289 | 100.5343
  tokyo-marunouchi | 東京丸の内支店 | 東京 | JP | 丸の内1-1 | 100-0005 | 35.6812 | 139.7671
  osaka-umeda | 大阪梅田支店 | 大阪 | JP | 梅田3-1-3 | 530-0001 | 34.7025 | 135.4959
  seoul-jongno | 서울 종로 지점 | 서울 | KR | 종로 33 | 03159 | 37.5704 | 126.9831
  shanghai-bund | 上海外滩支行 | 上海 | CN | 中山东一路15号 | 200002 | 31.2397 | 121.4907
  paris-opera | Paris Opéra | Paris | FR | 8 rue de la Paix | 75002 | 48.8698 | 2.3319
  zurich-limmat | Zürich Limmatquai | Zürich | CH | Limmatquai 22 | 8001 | 47.3717 | 8.543
  vienna-graben | Wien Graben | Wien | AT | Graben 17 | 1010 | 48.2087 | 16.3693
  dublin-liffey | Baile Átha Cliath | Dublin | IE | 4 Ormond Quay | D07 | 53.346 | -6.2655
  reykjavik-tjornin | Reykjavík Tjörnin | Reykjavík | IS | Lækjargata 2 | 101 | 64.1466 | -21.9365`;

/** Every fifth branch leaves out the optional fields, as real records may. */
export const branches = table<Branch>(
  rowsOf(branchTable).map(
    ([id = '', name, city = '', country, line_1, postcode, latitude, longitude], index) => {
      const sparse = index % 5 === 4;
      const branch = {
        id,
        bank: bankId,
        name,
        acceptsDeposits: index % 3 !== 2,
        address: sparse ? { city, country } : { city, country, line_1, postcode },
        lobby: { is24Hours: index % 4 === 0 },
        location: sparse ? undefined : { latitude: Number(latitude), longitude: Number(longitude) },
        meta: { license: index % 2 === 0 ? 'PDDL' : 'CC-BY-4.0' },
      };
      return [id, branch];
    },
  ),
);

export const branchHandlers: Handlers<'getBranches' | 'postBranches' | 'putBranchID'> = {
  getBranches: ({ database }) => branches(database).all,

  postBranches: ({ body, database }) => branches(database).all.filter((branch) => matches(branch, body)),

  /**
   * Creates or replaces a branch.
   * Errors: HttpError 403 for customers, 400 if the body's id is not the path's.
   */
  putBranchID: ({ ids, body, caller, database }) => {
    requireStaff(caller, 'put branches');
    checkOfPath('id', body.id, ids.BRANCH_ID, 'id');
    return branches(database).put(ids.BRANCH_ID, { ...body, id: ids.BRANCH_ID });
  },
};

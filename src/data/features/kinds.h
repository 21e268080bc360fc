// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "data/features/statistic.h"

/// What each kind of feature is, in the file of its name: how it changes columns, what it learns of rows, and which of
/// its parameters make no sense.
namespace thalweg::data {

/// Changes the columns. Throws Error that names the column that it cannot change.
void apply(const StringIndex& f, std::vector<Column>& columns);
void apply(const MinMaxScale& f, std::vector<Column>& columns);
void apply(const StandardScale& f, std::vector<Column>& columns);
void apply(const HashBucket& f, std::vector<Column>& columns);
void apply(const CrossHash& f, std::vector<Column>& columns);
void apply(const OneHot& f, std::vector<Column>& columns);
void apply(const Impute& f, std::vector<Column>& columns);
void apply(const QuantileBin& f, std::vector<Column>& columns);
void apply(const Log& f, std::vector<Column>& columns);
void apply(const Power& f, std::vector<Column>& columns);
void apply(const DateParts& f, std::vector<Column>& columns);

/// Null if the feature has nothing to learn.
std::unique_ptr<FeatureStatistic> statistic_of(const StringIndex& f);
std::unique_ptr<FeatureStatistic> statistic_of(const MinMaxScale& f);
std::unique_ptr<FeatureStatistic> statistic_of(const StandardScale& f);
std::unique_ptr<FeatureStatistic> statistic_of(const OneHot& f);
std::unique_ptr<FeatureStatistic> statistic_of(const Impute& f);
std::unique_ptr<FeatureStatistic> statistic_of(const QuantileBin& f);
inline std::unique_ptr<FeatureStatistic> statistic_of(const HashBucket& /*f*/) { return nullptr; }
inline std::unique_ptr<FeatureStatistic> statistic_of(const CrossHash& /*f*/) { return nullptr; }
inline std::unique_ptr<FeatureStatistic> statistic_of(const Log& /*f*/) { return nullptr; }
inline std::unique_ptr<FeatureStatistic> statistic_of(const Power& /*f*/) { return nullptr; }
inline std::unique_ptr<FeatureStatistic> statistic_of(const DateParts& /*f*/) { return nullptr; }

/// What is wrong with the parameters, besides an empty name of a column; null if nothing is.
const char* complaint_of(const StringIndex& f);
const char* complaint_of(const MinMaxScale& f);
const char* complaint_of(const StandardScale& f);
const char* complaint_of(const HashBucket& f);
const char* complaint_of(const CrossHash& f);
const char* complaint_of(const OneHot& f);
const char* complaint_of(const Impute& f);
const char* complaint_of(const QuantileBin& f);
inline const char* complaint_of(const Log& /*f*/) { return nullptr; }
const char* complaint_of(const Power& f);
const char* complaint_of(const DateParts& f);

}  // namespace thalweg::data
